import type { At } from './at.js';
/** Requests of 30 days, a bar for each day. The figures are asked for when the row comes into view. */
export declare function Bars({ at, id }: {
    at: At;
    id: string;
}): import("preact").JSX.Element;
