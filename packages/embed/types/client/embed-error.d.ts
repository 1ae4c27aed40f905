import type { ErrorCode, FieldFault } from '../errors.js';
/**
 * Why a call failed: a code of the service, or one of the browser.
 *
 * - `session_ended`: the service refused two tokens in a row, or the page gave none.
 * - `token_awaited`: `getToken` has not resolved yet.
 * - `misconfigured`: `baseUrl` or `getToken` is not what it must be. The message says which, and what to pass.
 * - `tenant_changed`: the newest token belongs to another tenant than the call was made for.
 * - `offline`: the browser has no network. `unreachable`: the service cannot be reached, or what answered was not it.
 * - `timed_out`: no answer in time. `closed`: the client was closed.
 */
export type EmbedErrorCode = ErrorCode | 'session_ended' | 'token_awaited' | 'misconfigured' | 'tenant_changed' | 'offline' | 'unreachable' | 'timed_out' | 'closed';
export interface EmbedErrorFacts {
    readonly status?: number | null;
    /** What the service calls the request in its log. */
    readonly requestId?: string | null;
    /** When the service wants the next try. */
    readonly retryAfterS?: number | null;
    readonly faults?: readonly FieldFault[];
    /** Whether a change may have happened although there is no answer. */
    readonly isOutcomeUnknown?: boolean;
    readonly cause?: unknown;
}
/** A call failed. It carries no token and no key. */
export declare class EmbedError extends Error {
    readonly code: EmbedErrorCode;
    readonly status: number | null;
    readonly requestId: string | null;
    readonly retryAfterS: number | null;
    readonly faults: readonly FieldFault[];
    readonly isOutcomeUnknown: boolean;
    constructor(code: EmbedErrorCode, message: string, { cause, ...facts }?: EmbedErrorFacts);
}
/** A page may have this module twice, for example from npm and from the service. */
export declare const isEmbedError: (error: unknown) => error is EmbedError;
