/** The language of the nearest element that has one, through shadow roots; then that of the browser. */
export declare function localeAround(element: Element): string;
