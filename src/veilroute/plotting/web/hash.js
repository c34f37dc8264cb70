// SHA-256 and HMAC (FIPS 180-4, RFC 2104), for pages that came over plain HTTP from another machine: browsers give
// these no crypto.subtle. Elsewhere draw.js asks the browser. Tests hold the two against each other.

const ROUND_WORDS = new Uint32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);
const FIRST_STATE = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const BLOCK_BYTES = 64;

export function joinBytes(...parts) {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function sha256Bytes(message) {
  const state = new Uint32Array(FIRST_STATE), words = new Uint32Array(64);
  const padded = padMessage(message);
  for (let at = 0; at < padded.byteLength; at += BLOCK_BYTES) mixBlock(state, words, padded, at);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setUint32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

export function hmacBytes(key, message) {
  const block = new Uint8Array(BLOCK_BYTES);
  block.set(key.length > BLOCK_BYTES ? sha256Bytes(key) : key);
  const inner = sha256Bytes(joinBytes(block.map((byte) => byte ^ 0x36), message));
  return sha256Bytes(joinBytes(block.map((byte) => byte ^ 0x5c), inner));
}

// The message, a bit, zeros, and its length in bits as the last eight bytes of a block.
function padMessage(message) {
  const size = Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const padded = new Uint8Array(size);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(size - 8, 8n * BigInt(message.length));
  return view;
}

function mixBlock(state, words, view, at) {
  for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15], late = words[i - 2];
    const low = turnRight(early, 7) ^ turnRight(early, 18) ^ (early >>> 3);
    const high = turnRight(late, 17) ^ turnRight(late, 19) ^ (late >>> 10);
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const up = turnRight(e, 6) ^ turnRight(e, 11) ^ turnRight(e, 25);
    const first = (h + up + ((e & f) ^ (~e & g)) + ROUND_WORDS[i] + words[i]) | 0;
    const down = turnRight(a, 2) ^ turnRight(a, 13) ^ turnRight(a, 22);
    const second = (down + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word; });
}

function turnRight(word, bits) {
  return (word >>> bits) | (word << (32 - bits));
}
