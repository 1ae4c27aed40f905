import { EmbedError } from './embed-error.js';
import type { Tokens } from './tokens.js';
interface EmbedCall {
    /** Such as `PATCH /v1/embed/keys/:id`. */
    readonly route: `${'GET' | 'POST' | 'PATCH'} /v1/embed/${string}`;
    readonly id?: string;
    readonly query?: object;
    readonly body?: object;
}
export type Send = <T>(call: EmbedCall) => Promise<T>;
interface Parts {
    readonly baseUrl: string;
    readonly tokens: Tokens;
    /** Ends every call. */
    readonly closed: AbortSignal;
}
/** Sends calls with the newest token, once more after a refused one, and turns every failure into an `EmbedError`. */
export declare function createSend(parts: Parts): Send;
export declare const changed: () => EmbedError;
export {};
