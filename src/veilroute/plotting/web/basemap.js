// The map underneath: streets by tiles and levels of detail, the cells of a grid, or the lines of a graph.
//
// Painting is a generator that stops after every small piece of work and says how large it was, in streets or so, so
// that a large map never holds up a frame.
// A frame is what is painted: { x, y, scale, width, height }, the point in its middle, pixels per map unit, its size.
import { decode, distanceTo } from "./geometry.js";

const STREETS_PER_TILE = 300;
const RANK_WIDTHS = [1, 0.72, 0.5, 0.32];

export function toFrame(frame, x, y) {
  return [(x - frame.x) * frame.scale + frame.width / 2, (frame.y - y) * frame.scale + frame.height / 2];
}

export function fromFrame(frame, px, py) {
  return [(px - frame.width / 2) / frame.scale + frame.x, frame.y - (py - frame.height / 2) / frame.scale];
}

export function createBase(map) {
  return map.kind === "grid" ? gridBase(map) : streetBase(map);
}

// ---- streets and graphs ----

function streetBase(map) {
  const store = streetStore(map);
  const nodes = map.nodes ? decode(map.nodes.points) : new Float64Array(0);
  return {
    *paint(ctx, frame, theme) {
      yield* paintStreets(ctx, frame, theme, store, nodes);
    },
    *paintNames(ctx, frame, theme) {
      if (store.perMetre * frame.scale > 0.3) yield* paintNames(ctx, frame, theme, store, tilesIn(store, frame));
    },
    describe: (x, y, reach) => nodeText(map, nodes, x, y, reach) || streetName(store, x, y, reach),
    pick(x, y, reach) {
      if (!map.earth) return pickNode(map, nodes, x, y, 2 * reach);
      return { x, y, text: earthText(map.earth, x, y) };
    },
  };
}

export function earthText({ lon, lat, perX, perY }, x, y) {
  return [lat + y * perY, lon + x * perX].map((degrees) => degrees.toFixed(6).replace(/^-(0\.0+)$/, "$1")).join(",");
}

function streetStore(map) {
  const lines = map.streets,
    points = decode(lines.points),
    firsts = new Uint32Array(lines.sizes.length + 1);
  lines.sizes.forEach((size, i) => {
    firsts[i + 1] = firsts[i] + size;
  });
  const perMetre = map.kind === "streets" ? 10 : 5; // of a graph nothing is known; its edges measure 500 units
  const hasMain = lines.ranks.some((rank) => rank < 2);
  return { lines, points, firsts, perMetre, hasMain, tiles: cutTiles(map.box, lines, points, firsts) };
}

// Each street is in the tile of its first point. A tile knows the box around its streets and, by rank, which these are.
function cutTiles([west, south, east, north], lines, points, firsts) {
  const num = lines.sizes.length,
    area = Math.max(east - west, 1) * Math.max(north - south, 1);
  const size = Math.max(
    Math.sqrt((area * STREETS_PER_TILE) / Math.max(num, 1)),
    (east - west) / 500,
    (north - south) / 500,
    1,
  );
  const across = Math.floor((east - west) / size) + 1,
    tiles = new Map();
  for (let i = 0; i < num; i++) {
    const at = 2 * firsts[i],
      key = Math.floor((points[at] - west) / size) + across * Math.floor((points[at + 1] - south) / size);
    let tile = tiles.get(key);
    if (!tile) {
      tile = { box: [Infinity, Infinity, -Infinity, -Infinity], ranks: [[], [], [], []], oneWay: [], paths: new Map() };
      tiles.set(key, tile);
    }
    tile.ranks[lines.ranks[i]].push(i);
    if (lines.oneWay[i]) tile.oneWay.push(i);
    growBox(tile.box, points, firsts[i], firsts[i + 1]);
  }
  return [...tiles.values()];
}

function growBox(box, points, first, last) {
  for (let j = 2 * first; j < 2 * last; j += 2) {
    const x = points[j],
      y = points[j + 1];
    if (x < box[0]) box[0] = x;
    if (y < box[1]) box[1] = y;
    if (x > box[2]) box[2] = x;
    if (y > box[3]) box[3] = y;
  }
}

// The streets of one rank in a tile. On level n, points closer than 2 ** n units to the one before are left out.
function tilePath({ points, firsts }, tile, rank, level) {
  const key = 64 * level + rank;
  let path = tile.paths.get(key);
  if (path) return path;
  path = new Path2D();
  const least = level ? 4 ** level : 0;
  for (const i of tile.ranks[rank]) {
    const first = 2 * firsts[i],
      last = 2 * firsts[i + 1] - 2;
    let x = points[first],
      y = points[first + 1];
    path.moveTo(x, y);
    for (let j = first + 2; j <= last; j += 2) {
      const dx = points[j] - x,
        dy = points[j + 1] - y;
      if (j < last && dx * dx + dy * dy < least) continue;
      path.lineTo((x += dx), (y += dy));
    }
  }
  tile.paths.set(key, path);
  return path;
}

function tilesIn(store, frame) {
  const [west, north] = fromFrame(frame, -10, -10),
    [east, south] = fromFrame(frame, frame.width + 10, frame.height + 10);
  return store.tiles.filter(({ box: [w, s, e, n] }) => w <= east && e >= west && s <= north && n >= south);
}

function* paintStreets(ctx, frame, theme, store, nodes) {
  const seen = tilesIn(store, frame),
    metre = store.perMetre * frame.scale;
  // Main roads are wider, and all streets grow as one comes closer. Far away, small streets would be a grey wash.
  const widest = Math.min(Math.max(1.4, 5 * Math.sqrt(metre)), 16),
    level = Math.max(0, Math.floor(Math.log2(1.4 / frame.scale)));
  const ranks = [3, 2, 1, 0].filter((rank) => !store.hasMain || rank < 2 || metre > (rank === 3 ? 0.04 : 0.012));
  ctx.save();
  ctx.translate(frame.width / 2 - frame.x * frame.scale, frame.height / 2 + frame.y * frame.scale);
  ctx.scale(frame.scale, -frame.scale);
  const isNear = metre > 0.12;
  ctx.lineCap = ctx.lineJoin = isNear ? "round" : "butt";
  if (!isNear) ctx.lineJoin = "bevel";
  for (const kind of isNear ? ["casing", "road"] : ["far"]) {
    for (const rank of ranks) {
      // From afar lines are a pixel wide at most, which is drawn many times faster; small streets are paler instead.
      const breadth =
        kind === "far"
          ? Math.min(Math.max(widest * RANK_WIDTHS[rank], 0.5), 1) / frame.ratio
          : Math.max(widest * RANK_WIDTHS[rank], 1.6);
      ctx.strokeStyle = theme[kind + rank];
      ctx.lineWidth = (kind === "casing" ? breadth + 1.6 : breadth) / frame.scale;
      for (const tile of seen) {
        if (!tile.ranks[rank].length) continue;
        ctx.stroke(tilePath(store, tile, rank, level));
        yield tile.ranks[rank].length * (kind === "far" ? 0.1 : 1);
      }
    }
  }
  ctx.restore();
  if (metre > 0.35)
    for (const tile of seen) {
      for (const i of tile.oneWay) paintOneWay(ctx, frame, store, i, theme.oneWay);
      yield tile.oneWay.length;
    }
  if (nodes.length && 100 * metre > 16) paintNodes(ctx, frame, nodes, theme);
}

function paintOneWay(ctx, frame, { lines, points, firsts }, i, fill) {
  const middle =
    2 * (firsts[i] + Math.floor((lines.sizes[i] - 1) / 2) - (lines.sizes[i] > 1 && lines.sizes[i] % 2 ? 1 : 0));
  const a = toFrame(frame, points[middle], points[middle + 1]),
    b = toFrame(frame, points[middle + 2], points[middle + 3]);
  if (Math.hypot(b[0] - a[0], b[1] - a[1]) < 24) return;
  paintArrow(ctx, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, Math.atan2(b[1] - a[1], b[0] - a[0]), 3.5, fill, null);
}

export function paintArrow(ctx, x, y, angle, size, fill, edge) {
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(angle);
  ctx.beginPath();
  for (const [dx, dy] of [
    [1.1, 0],
    [-0.8, 0.8],
    [-0.3, 0],
    [-0.8, -0.8],
  ])
    ctx.lineTo(dx * size, dy * size);
  ctx.closePath();
  ctx.fillStyle = fill;
  ctx.fill();
  if (edge) {
    ctx.strokeStyle = edge;
    ctx.lineWidth = 0.8;
    ctx.stroke();
  }
  ctx.restore();
}

function paintNodes(ctx, frame, nodes, theme) {
  ctx.fillStyle = theme.road0;
  ctx.strokeStyle = theme.casing0;
  for (let i = 0; i < nodes.length; i += 2) {
    const [x, y] = toFrame(frame, nodes[i], nodes[i + 1]);
    if (x < -5 || y < -5 || x > frame.width + 5 || y > frame.height + 5) continue;
    ctx.beginPath();
    ctx.arc(x, y, 3.2, 0, 2 * Math.PI);
    ctx.fill();
    ctx.stroke();
  }
}

// Names of streets along their longest straight pieces, each name once in a while, where they are in nobody's way.
function* paintNames(ctx, frame, theme, { lines, points, firsts }, seen) {
  const wanted = new Map(),
    taken = [];
  for (const tile of seen)
    for (const rank of [0, 1, 2])
      for (const i of tile.ranks[rank]) {
        const name = lines.names[lines.nameIds[i]];
        if (!name) continue;
        for (let j = 2 * firsts[i]; j < 2 * firsts[i + 1] - 2; j += 2) {
          const long = Math.hypot(points[j + 2] - points[j], points[j + 3] - points[j + 1]) * frame.scale;
          const known = wanted.get(name);
          if (long > 50 && (!known || long > known.long) && isInside(frame, points, j))
            wanted.set(name, { name, rank, long, j });
        }
      }
  yield 100;
  ctx.font = "500 11px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  for (const { name, long, j } of [...wanted.values()].sort(
    (a, b) => a.rank - b.rank || b.long - a.long || (a.name < b.name ? -1 : 1),
  )) {
    const text = plainText(name, 40),
      half = ctx.measureText(text).width / 2;
    if (2 * half + 8 > long) continue;
    const [ax, ay] = toFrame(frame, points[j], points[j + 1]),
      [bx, by] = toFrame(frame, points[j + 2], points[j + 3]);
    const x = (ax + bx) / 2,
      y = (ay + by) / 2,
      turn = Math.atan2(by - ay, bx - ax);
    if (taken.some(([ox, oy, reach]) => Math.hypot(ox - x, oy - y) < half + reach)) continue;
    taken.push([x, y, half]);
    ctx.save();
    ctx.translate(x, y);
    ctx.rotate(Math.abs(turn) > Math.PI / 2 ? turn + Math.PI : turn);
    ctx.lineWidth = 3;
    ctx.strokeStyle = theme.halo;
    ctx.strokeText(text, 0, 0);
    ctx.fillStyle = theme.muted;
    ctx.fillText(text, 0, 0);
    ctx.restore();
  }
  yield 100;
}

function isInside(frame, points, j) {
  const [x, y] = toFrame(frame, (points[j] + points[j + 2]) / 2, (points[j + 1] + points[j + 3]) / 2);
  return x > 40 && y > 12 && x < frame.width - 40 && y < frame.height - 12;
}

// Text for a canvas: without marks that turn the direction of writing, and no longer than it may be.
export function plainText(text, longest) {
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "");
  return plain.length > longest ? plain.slice(0, longest - 1).trimEnd() + "…" : plain;
}

function streetName({ lines, points, firsts, tiles }, x, y, reach) {
  let best = reach,
    name = "";
  for (const { box, ranks } of tiles) {
    if (x < box[0] - reach || x > box[2] + reach || y < box[1] - reach || y > box[3] + reach) continue;
    for (const rank of ranks)
      for (const i of rank) {
        for (let j = 2 * firsts[i]; j + 3 < 2 * firsts[i + 1]; j += 2) {
          const away = distanceTo(x, y, points[j], points[j + 1], points[j + 2], points[j + 3]);
          if (away < best) {
            best = away;
            name = lines.names[lines.nameIds[i]];
          }
        }
      }
  }
  return name;
}

function nearestNode(nodes, x, y, reach) {
  let best = reach,
    found = -1;
  for (let i = 0; i < nodes.length; i += 2) {
    const away = Math.hypot(nodes[i] - x, nodes[i + 1] - y);
    if (away < best) {
      best = away;
      found = i / 2;
    }
  }
  return found;
}

function nodeText(map, nodes, x, y, reach) {
  const found = nearestNode(nodes, x, y, reach);
  return found < 0 ? "" : map.nodes.labels[found];
}

function pickNode(map, nodes, x, y, reach) {
  const found = nearestNode(nodes, x, y, reach);
  return found < 0
    ? { x, y, text: "" }
    : { x: nodes[2 * found], y: nodes[2 * found + 1], text: map.nodes.labels[found] };
}

// ---- grids ----

function gridBase(map) {
  const rows = map.grid.rows,
    height = rows.length,
    width = rows[0].length;
  const isFree = (row, col) => row >= 0 && col >= 0 && row < height && col < width && rows[row][col] !== "@";
  const cellAt = (x, y) => [Math.round(-y / 10), Math.round(x / 10)];
  let picture = null,
    pictured = "";
  return {
    *paint(ctx, frame, theme) {
      if (pictured !== theme.wall) {
        picture = gridPicture(rows, width, height, theme);
        pictured = theme.wall;
        yield 1000;
      }
      paintGrid(ctx, frame, theme, picture);
    },
    *paintNames() {},
    describe(x, y) {
      const [row, col] = cellAt(x, y);
      return isFree(row, col) ? `row ${row}, column ${col}` : "";
    },
    pick(x, y) {
      const [row, col] = cellAt(x, y);
      return isFree(row, col) ? { x: 10 * col, y: -10 * row, text: `${row},${col}` } : { x, y, text: "" };
    },
  };
}

// One pixel for each cell that is a wall, nothing where one may go.
function gridPicture(rows, width, height, theme) {
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [width, height];
  const ctx = picture.getContext("2d");
  ctx.fillStyle = theme.wall;
  rows.forEach((row, y) => {
    for (let x = 0; x < width;) {
      const from = x,
        isWall = row[x] === "@";
      while (x < width && (row[x] === "@") === isWall) x++;
      if (isWall) ctx.fillRect(from, y, x - from, 1);
    }
  });
  return picture;
}

function paintGrid(ctx, frame, theme, picture) {
  const [left, top] = toFrame(frame, -5, 5),
    cell = 10 * frame.scale,
    wide = picture.width * cell,
    high = picture.height * cell;
  ctx.fillStyle = theme.floor;
  ctx.fillRect(left, top, wide, high);
  if (cell >= 8) {
    ctx.beginPath();
    for (let x = left; x <= left + wide + 0.5; x += cell)
      if (x >= 0 && x <= frame.width) {
        ctx.moveTo(x, Math.max(top, 0));
        ctx.lineTo(x, Math.min(top + high, frame.height));
      }
    for (let y = top; y <= top + high + 0.5; y += cell)
      if (y >= 0 && y <= frame.height) {
        ctx.moveTo(Math.max(left, 0), y);
        ctx.lineTo(Math.min(left + wide, frame.width), y);
      }
    ctx.strokeStyle = theme.cell;
    ctx.lineWidth = 1;
    ctx.stroke();
  }
  ctx.imageSmoothingEnabled = cell < 1;
  ctx.drawImage(picture, left, top, wide, high);
  ctx.strokeStyle = theme.wall;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(left, top, wide, high);
}
