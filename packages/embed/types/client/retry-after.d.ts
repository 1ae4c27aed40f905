/** Seconds; null if there are none. A page's own error may have headers of any form, or none. */
export declare function retryAfterOf(headers?: {
    get?(name: string): unknown;
}): number | null;
