/**
 * Listens to events.
 *
 * @returns a function that stops listening
 */
export declare function hear(target: EventTarget, names: readonly string[], call: (event: Event) => void): () => void;
