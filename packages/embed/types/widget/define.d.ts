/** A page may load two versions; the first one stays. */
export declare function defineKeyrailKeys(): void;
