// Lines and points, checked by hand. On a screen y grows downwards, so left of who goes east is up, where y is less.
import { across, decode, distanceTo, lineBeside, meeting, pointsAlong } from "./geometry.js";
import { equal, near, ok } from "./checks.js";

export function testDecodeAddsDifferences() {
  equal(decode([10, 20, 1, -2, -3, 4]), [10, 20, 11, 18, 8, 22]);
  equal(decode([]), []);
}

export function testDistanceToALineIsToItsNearestPoint() {
  near(distanceTo(5, 3, 0, 0, 10, 0), 3);
  near(distanceTo(13, 4, 0, 0, 10, 0), 5);
  near(distanceTo(3, 4, 0, 0, 0, 0), 5);
}

export function testAcrossIsToTheLeft() {
  near(across([0, 0], [10, 0], 2), [0, -2]);
  near(across([0, 0], [0, 5], 2), [2, 0]);
  near(across([1, 1], [1, 1], 2), [0, 0]);
}

export function testMeetingOfTwoShiftsIsTheCorner() {
  near(meeting([0, -2], [2, 0]), [2, -2]);
  equal(meeting([0, -2], [0, 2]), null);
  near(meeting([0, -2], [0, -2]), [0, -2]);
}

export function testLineBesideAStraightLineIsShifted() {
  near(lineBeside([[0, 0], [10, 0]], [2]).flat(), [0, -2, 10, -2]);
  near(lineBeside([[0, 0], [10, 0], [20, 0]], [0, 0]).flat(), [0, 0, 10, 0, 20, 0]);
}

export function testLineBesideACornerTurnsOnce() {
  near(lineBeside([[0, 0], [10, 0], [10, 10]], [2, 2]).flat(), [0, -2, 12, -2, 12, 10]);
}

export function testLineBesideLeavesOutBendsThatAreCloserThanLanes() {
  equal(lineBeside([[0, 0], [1, 1], [20, 0]], [0, 0]).length, 2);
  equal(lineBeside([[5, 5]], []), [[5, 5]]);
}

export function testPointsAlongAreEvenlyApart() {
  const found = [...pointsAlong([[0, 0], [10, 0], [10, 10]], 4)];
  near(found.map(([x, y]) => [x, y]).flat(), [2, 0, 6, 0, 10, 0, 10, 4, 10, 8], 1e-9);
  near(found[0][2], 0);
  near(found[4][2], Math.PI / 2);
  ok([...pointsAlong([[0, 0]], 4)].length === 0);
}
