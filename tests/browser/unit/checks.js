// What unit tests say about values. A test is an exported function whose name begins with "test"; it fails by throwing.

const text = (value) => {
  const plain = ArrayBuffer.isView(value) ? [...value] : value;
  return JSON.stringify(plain, (_, part) => (part instanceof Map ? [...part] : part instanceof Set ? [...part] : part));
};

export function equal(found, expected) {
  if (text(found) !== text(expected)) throw new Error(`expected ${text(expected)}, got ${text(found)}`);
}

export function near(found, expected, most = 1e-9) {
  const pairs = Array.isArray(expected) || ArrayBuffer.isView(expected)
    ? [...expected].map((value, i) => [found[i], value])
    : [[found, expected]];
  const isNear = found.length === expected.length && pairs.every(([a, b]) => Math.abs(a - b) <= most);
  if (!isNear) throw new Error(`expected ${text(expected)}, got ${text(found)}`);
}

export function ok(value, what = "expected a true value") {
  if (!value) throw new Error(what);
}

export async function fails(work, pattern = /./) {
  try {
    await work();
  } catch (error) {
    if (!pattern.test(error.message)) throw new Error(`expected ${pattern}, got ${error.message}`);
    return;
  }
  throw new Error("expected a failure");
}
