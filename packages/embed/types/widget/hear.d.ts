/** Hears events until the answer is called. */
export declare function hear(target: EventTarget, names: readonly string[], call: (event: Event) => void): () => void;
