// Lines and points, without knowing of maps. A point is [x, y]; on a screen y grows downwards.

// Numbers in turn x and y, each the difference from the point before, as a flat array of coordinates.
export function decode(differences) {
  const points = new Float64Array(differences.length);
  for (let i = 0, x = 0, y = 0; i < differences.length; i += 2) {
    points[i] = x += differences[i];
    points[i + 1] = y += differences[i + 1];
  }
  return points;
}

// From a point to a piece of straight line.
export function distanceTo(x, y, x1, y1, x2, y2) {
  const dx = x2 - x1,
    dy = y2 - y1;
  const share = Math.min(Math.max(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(x1 + share * dx - x, y1 + share * dy - y);
}

// The line that runs beside another on a screen: shifts[i] to the left of who goes from point i to the next.
export function lineBeside(points, shifts) {
  const near = [points[0]],
    aside = [];
  for (let i = 1; i < points.length; i++) {
    const before = near[near.length - 1],
      isLast = i === points.length - 1;
    // Bends closer together than the lines are apart would tie them into knots.
    if (!isLast && Math.hypot(points[i][0] - before[0], points[i][1] - before[1]) < 4) continue;
    aside.push(across(before, points[i], shifts[i - 1]));
    near.push(points[i]);
  }
  if (near.length === 1) return near;
  const line = [];
  near.forEach(([x, y], i) => {
    const a = aside[i - 1],
      b = aside[i],
      corner = a && b ? meeting(a, b) : null;
    for (const shift of corner ? [corner] : [a, b]) if (shift) line.push([x + shift[0], y + shift[1]]);
  });
  return line;
}

// A way of this length to the left of who goes from one point to another on a screen.
export function across(from, to, length) {
  const dx = to[0] - from[0],
    dy = to[1] - from[1],
    own = Math.hypot(dx, dy) || 1;
  return [(dy / own) * length, (-dx / own) * length];
}

// Where two lines meet that pass a junction at a and at b and run across these; null when that is not near.
export function meeting(a, b) {
  const aa = a[0] ** 2 + a[1] ** 2,
    bb = b[0] ** 2 + b[1] ** 2,
    cross = a[0] * b[1] - a[1] * b[0];
  if (Math.hypot(a[0] - b[0], a[1] - b[1]) < 0.1) return a;
  if (Math.abs(cross) < 1e-3) return null;
  const corner = [(aa * b[1] - bb * a[1]) / cross, (bb * a[0] - aa * b[0]) / cross];
  return Math.hypot(...corner) <= 2 * Math.sqrt(Math.max(aa, bb)) ? corner : null;
}

// Points along a line, as [x, y, angle], one every so often.
export function* pointsAlong(line, spacing) {
  let ahead = spacing / 2;
  for (let i = 1; i < line.length; i++) {
    const [x, y] = line[i - 1],
      dx = line[i][0] - x,
      dy = line[i][1] - y,
      length = Math.hypot(dx, dy);
    for (; ahead < length; ahead += spacing) {
      yield [x + (dx * ahead) / length, y + (dy * ahead) / length, Math.atan2(dy, dx)];
    }
    ahead -= length;
  }
}
