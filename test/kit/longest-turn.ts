/** How long the event loop computes without looking up, by what this process computes and not by the clock: others may be busy. */

/** What `work` gives, and the longest time that the event loop computed without looking up. */
export async function withLongestTurn<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; longestMs: number }> {
  let longestMs = 0;
  let isOver = false;
  let before = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    before = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  const result = await work();
  await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  return { result, longestMs };
}
