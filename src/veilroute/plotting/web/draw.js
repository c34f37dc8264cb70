// From what was typed to a route, as `veilroute route` does it: the candidate that is meant, the class that is drawn
// (veilroute/keys.py), and the texts of the route. Everything is made from the scene's "drive" (plotting/seats.py):
// nothing is asked for, stored or logged, and no error holds anything that was typed.
import { hmacBytes, joinBytes } from "./hash.js";

const LONGEST_TYPED = 10000;
const KEY_HEADER = "veilroute-key/1\n";
const KEY_DIGITS = 64;
const DRAW_HEADER = "veilroute-draw/2";
const DIGIT = 2n ** 255n;
// What Python calls space; JavaScript's \s is not the same.
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const SPACE_ROUND = new RegExp(`^${SPACE}+|${SPACE}+$`, "g");
const SPACES = new RegExp(`${SPACE}+`, "g");
const BETWEEN_CELLS = new RegExp(`${SPACE}*,${SPACE}*|${SPACE}+`, "g");

// The position of the candidate that was typed, -1 where it is none or may be several. Every candidate is looked at.
export function findPlace(drive, typed) {
  const at = lookUp(drive, typed);
  // Browsers keep the text of the last match (RegExp.input) until there is another.
  /none/.test("none");
  return at;
}

function lookUp(drive, typed) {
  if ([...typed].length > LONGEST_TYPED) return -1;
  const bare = stripSpace(typed);
  for (const wanted of [typed.replace(/[\r\n]+$/, ""), bare]) {
    // A name may be what another candidate's node is called: customers and junctions both have numbers.
    const exact = placesWhere(drive, (place) => wanted === place.text || wanted === place.name);
    if (exact.length) return onlyOne(exact);
  }
  const cell = tidyCell(bare), small = foldText(drive, bare);
  const cells = placesWhere(drive, (place) => place.isCell && place.text === cell);
  return onlyOne(cells.length ? cells : placesWhere(drive, (place) => place.folded.includes(small)));
}

function placesWhere(drive, isMeant) {
  const found = [];
  drive.places.forEach((place, at) => { if (isMeant(place)) found.push(at); });
  return found;
}

function onlyOne(found) {
  return found.length === 1 ? found[0] : -1;
}

function stripSpace(text) {
  return text.replace(SPACE_ROUND, "");
}

// (3, 4), [3,4] and 3 4 become 3,4.
function tidyCell(bare) {
  return stripSpace(bare.replace(/^[([]/, "").replace(/[)\]]$/, "")).replace(BETWEEN_CELLS, ",");
}

function foldText(drive, text) {
  const isKnown = (letter) => Object.hasOwn(drive.fold, letter);
  const letters = [...text.normalize("NFKC")].map((letter) => (isKnown(letter) ? drive.fold[letter] : letter));
  return stripSpace(letters.join("")).replace(SPACES, " ");
}

// The class that a candidate gets: the only one, or one drawn; {class, share, routes, parts}. The key is what openKey
// gave, or null for a fresh draw.
export async function chooseDraw(drive, at, key, occasion) {
  const place = drive.places[at];
  if (!drive.isRandomised) return place.draws[0];
  const weights = place.draws.map((draw) => draw.share);
  if (!weights.some((weight) => weight !== 0)) return place.draws[0];
  const parts = [hexBytes(place.drawSha256), utf8(place.drawLabel), occasionBytes(occasion)];
  return place.draws[await drawWeighted(weights, key ? keyedNumbers(key, parts) : freshBelow)];
}

// A position with a chance exactly proportional to its weight: over a common power of two, doubles are integers. A
// uniform number falls to one of them; it has as many digits as it takes to tell to which.
export async function drawWeighted(weights, below) {
  const ratios = weights.map(integerRatio);
  const scale = Math.max(...ratios.map(([, shift]) => shift));
  let end = 0n;
  const ends = ratios.map(([number, shift]) => (end += number << BigInt(scale - shift)));
  for (let number = 0n, scale = 1n; ;) {
    [number, scale] = [number * DIGIT + await below(DIGIT), scale * DIGIT];
    const least = number * end / scale, most = ((number + 1n) * end - 1n) / scale;
    const position = ends.findIndex((each) => least < each);
    if (most < ends[position]) return position;
  }
}

// A double as [integer, shift], meaning integer / 2 ** shift, with the smallest shift that there is.
export function integerRatio(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0), exponent = Number((bits >> 52n) & 0x7ffn);
  let number = bits & 0xfffffffffffffn, shift = 1074;
  if (exponent) [number, shift] = [number | 0x10000000000000n, 1075 - exponent];
  if (!number) return [0n, 0];
  for (; shift > 0 && !(number & 1n); shift--) number >>= 1n;
  return shift < 0 ? [number << BigInt(-shift), 0] : [number, shift];
}

// Uniform integers that depend on the key and the parts alone: HMAC over the parts and a counter, and again where
// the number is too large.
export function keyedNumbers(key, parts) {
  const message = joinBytes(...[utf8(DRAW_HEADER), ...parts].flatMap((part) => [eightBytes(part.length), part]));
  let counter = 0;
  return async (total) => {
    const numBits = total.toString(2).length, numBlocks = Math.ceil(numBits / 256);
    for (;;) {
      const blocks = [];
      for (let i = 0; i < numBlocks; i++) blocks.push(await key.sign(joinBytes(message, eightBytes(counter++))));
      const number = wholeNumber(joinBytes(...blocks)) >> BigInt(256 * numBlocks - numBits);
      if (number < total) return number;
    }
  };
}

// A uniform integer from 0 to below the total, by the browser's own randomness.
export function freshBelow(total) {
  const numBits = total.toString(2).length, bytes = new Uint8Array(Math.ceil(numBits / 8));
  for (;;) {
    const number = wholeNumber(crypto.getRandomValues(bytes)) >> BigInt(8 * bytes.length - numBits);
    if (number < total) return number;
  }
}

// A key from the bytes of its file, which are wiped; null where it is none. What is kept signs, and shows nothing.
export async function openKey(file) {
  const text = String.fromCharCode(...file.subarray(0, KEY_HEADER.length + KEY_DIGITS + 3));
  const digits = text.slice(KEY_HEADER.length).replace(/\n$/, "");
  file.fill(0);
  if (!text.startsWith(KEY_HEADER) || digits.length !== KEY_DIGITS || /[^0-9a-f]/.test(digits)) return null;
  const raw = hexBytes(digits);
  if (!globalThis.crypto?.subtle) return { sign: async (message) => hmacBytes(raw, message) };
  const own = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  raw.fill(0);
  return { sign: async (message) => new Uint8Array(await crypto.subtle.sign("HMAC", own, message)) };
}

// Text that looks the same is the same, however its accents were typed.
export function occasionBytes(occasion) {
  return utf8(occasion.normalize("NFC"));
}

// UTF-8, as Python writes it: half a character is kept, and TextEncoder would replace it.
function utf8(text) {
  const bytes = [];
  for (const letter of text) {
    const code = letter.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tailByte(code, 0));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), tailByte(code, 6), tailByte(code, 0));
    else bytes.push(0xf0 | (code >> 18), tailByte(code, 12), tailByte(code, 6), tailByte(code, 0));
  }
  return new Uint8Array(bytes);
}

function tailByte(code, shift) {
  return 0x80 | ((code >> shift) & 0x3f);
}

function hexBytes(digits) {
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

function eightBytes(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(number));
  return new Uint8Array(view.buffer);
}

function wholeNumber(bytes) {
  return BigInt(`0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`);
}

// A route as `veilroute route` prints it: as "text", "json", "directions" or "gpx".
export function routeText(drive, number, format) {
  const route = drive.routes[number];
  const labels = route.nodes.map((at) => [drive.labels[at]].flat());
  if (format === "text") return labels.map(([text]) => `${text}\n`).join("");
  if (format === "json") return route.json[0] + labels.map((label) => label.at(-1)).join(",") + route.json[1];
  if (format !== "gpx" || typeof route.gpx === "string") return route[format];
  const [head, points, tail] = route.gpx, lines = [];
  for (let i = 0, lat = 0, lon = 0; i < points.length; i += 2) {
    lat += points[i];
    lon += points[i + 1];
    lines.push(`   <trkpt lat="${degreesText(lat)}" lon="${degreesText(lon)}"/>`);
  }
  return head + lines.join("\n") + tail;
}

// Ten-millionths of a degree with seven decimals.
function degreesText(number) {
  const digits = String(Math.abs(number)).padStart(8, "0");
  return `${number < 0 ? "-" : ""}${digits.slice(0, -7)}.${digits.slice(-7)}`;
}
