/**
 * Remembers where the focus is. The answer gives it back if it is lost by then, as when a list comes again: to what had it, else
 * its row, else the row that has come in its place, else the heading.
 */
export declare function keepPlace(root: ShadowRoot): () => void;
