/**
 * Whether dates may be formatted. To make its first formatter of dates takes a browser longer than to draw the rows, so the first rows are
 * painted without their dates.
 */
export declare function useDates(hasRows: boolean): boolean;
