/**
 * Whether dates may be formatted. The first formatter of a page takes the browser longer than all else until rows are shown, so the
 * first rows are painted without their dates.
 */
export declare function useDates(hasRows: boolean): boolean;
