/**
 * Remembers which element has the focus. The returned function restores a focus that is lost by then, for example because the list
 * was drawn again. It focuses the first of these that is still there: the element, its row, the row beside it, the heading.
 */
export declare function keepPlace(root: ShadowRoot): () => void;
