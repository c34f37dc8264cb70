// From what was typed to a class and its texts. keyed_draws.json is what veilroute/keys.py gives; a test in Python
// holds it to that.
import {
  chooseDraw, drawWeighted, findPlace, freshBelow, integerRatio, keyedNumbers, occasionBytes, openKey, routeText,
} from "./draw.js";
import { hmacBytes, sha256Bytes } from "./hash.js";
import { equal, ok } from "./checks.js";

const bytesOf = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const keyFile = (digits) => bytesOf(`veilroute-key/1\n${digits}\n`);
const vectors = async () => (await fetch("/keyed_draws.json")).json();

function place(text, name, more = {}) {
  const folded = [name, more.isCell ? null : text].filter((each) => each).map((each) => each.toLowerCase());
  return { text, name, isCell: false, folded, drawLabel: `"${text}"\n`, refusal: null, draws: [], ...more };
}

const small = Object.fromEntries([..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map((letter) => [letter, letter.toLowerCase()]));
const town = {
  fold: { ...small, ß: "ss" },
  places: [
    place("102", "Branch North"), place("104", "102"), place("7", "Weiss"), place("8", "Twin"), place("9", "twin"),
  ],
};
const floor = { fold: {}, places: ["3,4", "3,44"].map((text) => place(text, null, { isCell: true })) };

export function testPlacesAreFoundByLabelAndName() {
  equal(findPlace(town, "Branch North"), 0);
  equal(findPlace(town, "  branch   NORTH "), 0);
  equal(findPlace(town, "ＢＲＡＮＣＨ north"), 0);
  equal(findPlace(town, "104"), 1);
  equal(findPlace(town, "WEIß"), 2);
}

export function testWhatMayBeSeveralIsNone() {
  equal(findPlace(town, "102"), -1);
  equal(findPlace(town, "TWIN"), -1);
  equal(findPlace(town, "twin"), 4);
  equal(findPlace(town, ""), -1);
  equal(findPlace(town, "__proto__"), -1);
  equal(findPlace(town, `${" ".repeat(10000)}104`), -1);
}

export function testCellsAreTidied() {
  for (const typed of ["3,4", "(3, 4)", "[3 4]", " 3\u00a0 4", "3 ,4", "(3,4"]) equal(findPlace(floor, typed), 0);
  equal(findPlace(floor, "3,44"), 1);
  equal(findPlace(floor, "34"), -1);
  equal(findPlace(floor, "\ufeff3,4"), -1);  // no space to Python
}

export function testNothingTypedStaysWithTheBrowser() {
  findPlace(town, "  branch   NORTH ");
  ok(!/north/i.test(RegExp.input ?? ""));
}

export function testDoublesAreExactRatios() {
  const plain = (value) => integerRatio(value).map(String);
  equal(plain(0), ["0", "0"]);
  equal(plain(0.75), ["3", "2"]);
  equal(plain(6), ["6", "0"]);
  equal(plain(5e-324), ["1", "1074"]);
  equal(plain(0.1), ["3602879701896397", "55"]);
  equal(plain(2 ** 80), [String(2n ** 80n), "0"]);
}

export async function testKeyedDrawsArePythons() {
  for (const { weights, key, occasion, drawn } of (await vectors()).draws) {
    const parts = [new Uint8Array([1, 2]), bytesOf("[0,2]\n"), occasionBytes(occasion)];
    equal(await drawWeighted(weights, keyedNumbers(await openKey(keyFile(key)), parts)), drawn);
  }
}

export async function testAsManyDigitsAsItTakes() {
  const digit = 2n ** 255n, source = (...digits) => () => digits.shift();
  equal(await drawWeighted([1, 1, 1], source(digit / 3n, 0n)), 0);
  equal(await drawWeighted([1, 1, 1], source(digit / 3n, digit - 1n)), 1);
  equal(await drawWeighted([1, 1, 1], source(digit / 3n + 1n)), 1);
  equal(await drawWeighted([1, 0, 1], source(digit / 2n)), 2);
}

export async function testKeyedNumbersArePythons() {
  for (const { key, total, numbers } of (await vectors()).numbers) {
    const below = keyedNumbers(await openKey(keyFile(key)), [bytesOf("a"), bytesOf("")]);
    for (const number of numbers) equal(String(await below(BigInt(total))), number);
  }
}

export async function testOwnHashIsTheBrowsers() {
  for (const size of [0, 1, 31, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    const message = crypto.getRandomValues(new Uint8Array(size));
    equal(hex(sha256Bytes(message)), hex(new Uint8Array(await crypto.subtle.digest("SHA-256", message))));
    for (const long of [32, 64, 65, 200]) {
      const key = crypto.getRandomValues(new Uint8Array(long));
      const own = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
      equal(hex(hmacBytes(key, message)), hex(new Uint8Array(await crypto.subtle.sign("HMAC", own, message))));
    }
  }
}

export function testHashOfAKnownText() {
  equal(hex(sha256Bytes(bytesOf("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

export async function testOnlyKeyFilesAreKeys() {
  const digits = "0123456789abcdef".repeat(4), open = (text) => openKey(bytesOf(text));
  ok(await open(`veilroute-key/1\n${digits}\n`));
  ok(await open(`veilroute-key/1\n${digits}`));
  const others = [
    "", digits, `veilroute-key/2\n${digits}\n`, `veilroute-key/1\n${digits}\n\n`, `veilroute-key/1\n${digits}0\n`,
    `veilroute-key/1\n${digits.toUpperCase()}\n`, `veilroute-key/1\r\n${digits}\r\n`,
    `veilroute-key/1\n${digits.slice(1)}\n`,
  ];
  for (const text of others) equal(await open(text), null);
}

export async function testTheBytesOfAKeyAreWiped() {
  const bytes = keyFile("0123456789abcdef".repeat(4));
  const key = await openKey(bytes);
  ok(bytes.every((byte) => byte === 0));
  equal(JSON.stringify(key), "{}");
}

export function testFreshNumbersReachAllAndNoMore() {
  for (const total of [1n, 2n, 3n, 5n, 256n]) {
    const seen = new Set();
    for (let i = 0; i < 6000; i++) seen.add(freshBelow(total));
    equal(seen.size, Number(total));
    ok([...seen].every((number) => number >= 0n && number < total));
  }
}

export async function testAWeightOfNothingIsNeverDrawn() {
  for (let i = 0; i < 300; i++) equal(await drawWeighted([0, 5e-324, 0], freshBelow), 1);
}

export async function testPartitionsDrawNothing() {
  const only = { class: 2, share: null, routes: [0], parts: [0] };
  equal(await chooseDraw({ isRandomised: false, places: [place("1", null, { draws: [only] })] }, 0, null, ""), only);
}

export function testOccasionsThatLookTheSameAreTheSame() {
  equal(occasionBytes("U\u0308"), occasionBytes("\u00dc"));
  equal(occasionBytes("\u{1f69a}"), [0xf0, 0x9f, 0x9a, 0x9a]);
  equal(occasionBytes("\ud83d"), [0xed, 0xa0, 0xbd]);  // half a character, as Python writes it
}

export function testTextsAreMadeFromTheTable() {
  const route = {
    nodes: [0, 1, 0], json: ["{\"cost\":2,\"route\":[", "],\"trip\":0}\n"], directions: "1. Go\n",
    gpx: ["<trkseg>\n", [600000001, -5, 1, 6], "\n</trkseg>\n"],
  };
  const drive = { labels: ["9007199254740993", ["0,1", "[0,1]"]], routes: [route] };
  equal(routeText(drive, 0, "text"), "9007199254740993\n0,1\n9007199254740993\n");
  equal(routeText(drive, 0, "json"), "{\"cost\":2,\"route\":[9007199254740993,[0,1],9007199254740993],\"trip\":0}\n");
  equal(routeText(drive, 0, "directions"), "1. Go\n");
  equal(routeText(drive, 0, "gpx"), "<trkseg>\n   <trkpt lat=\"60.0000001\" lon=\"-0.0000005\"/>\n"
    + "   <trkpt lat=\"60.0000002\" lon=\"0.0000001\"/>\n</trkseg>\n");
  equal(routeText({ labels: [], routes: [{ nodes: [], gpx: "as it is" }] }, 0, "gpx"), "as it is");
}
