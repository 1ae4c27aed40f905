/** A page may load two versions of the widget; the first version stays. */
export declare function defineKeyrailKeys(): void;
