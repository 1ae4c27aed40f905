/** Whether the browser has no network for sure. The machine itself may still answer. */
export declare const isOffline: () => boolean;
