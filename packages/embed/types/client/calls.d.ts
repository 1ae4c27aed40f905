import { EmbedError } from './embed-error.js';
import type { Tokens } from './tokens.js';
interface Call {
    readonly method: 'GET' | 'POST' | 'PATCH';
    readonly path: string;
    readonly query?: object;
    readonly body?: object;
}
export type Send = <T>(call: Call) => Promise<T>;
interface Parts {
    readonly baseUrl: string;
    readonly tokens: Tokens;
    /** Ends every call. */
    readonly closed: AbortSignal;
}
/** Sends calls with the newest token, once more after a refused one, and turns every failure into an `EmbedError`. */
export declare function createSend({ baseUrl, tokens, closed }: Parts): Send;
export declare const changed: () => EmbedError;
export {};
