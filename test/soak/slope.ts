// The straight line that fits a series best, by least squares.

interface Point {
  readonly x: number;
  readonly y: number;
}

/** How much `y` grows with every `x`; 0 for fewer than two points. */
export function slopeOf(points: readonly Point[]): number {
  const mean = (pick: (point: Point) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const meanX = mean(({ x }) => x);
  const meanY = mean(({ y }) => y);
  let over = 0;
  let under = 0;
  for (const { x, y } of points) {
    over += (x - meanX) * (y - meanY);
    under += (x - meanX) ** 2;
  }
  return under === 0 ? 0 : over / under;
}
