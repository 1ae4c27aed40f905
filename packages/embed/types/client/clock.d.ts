/**
 * Milliseconds that only grow. `performance.now()` stands still in some browsers while the machine sleeps, so what the
 * wall clock has gone ahead meanwhile is added. A person who sets the wall clock causes one early renewal, at most.
 */
export declare function createClock(): () => number;
