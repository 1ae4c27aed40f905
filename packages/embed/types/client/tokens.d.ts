import { type Claims } from './claims.js';
import { EmbedError } from './embed-error.js';
/**
 * Gets a token from the vendor's server. The page calls it with the vendor's own credential, such as its cookie.
 *
 * Where the server answers with another status than 2xx, throw that `Response`, or an error with its `status`. Above 403, and after
 * the `TypeError` of a `fetch` without an answer, the client says `unavailable` (`too_many_requests` for 429) with the `Retry-After`
 * of the answer. Whatever else is thrown means that the person is signed out: `session_ended`.
 */
export type GetToken = () => Promise<string>;
export interface Held extends Claims {
    readonly token: string;
    /** When it ends, on the client's clock. */
    endsAt: number;
}
/** What a new token changed; or `late`, where the page has given none for five seconds, and is still awaited. */
export type TokenChange = 'tenant' | 'scopes' | 'late';
interface Parts {
    readonly getToken: GetToken;
    /** Milliseconds that only grow. */
    readonly now: () => number;
    /** Called before any call continues with the new token, or while calls wait for one. */
    readonly onChange: (change: TokenChange) => void;
}
export interface Tokens {
    /** The token for a call: the held one while it is valid, otherwise a new one. */
    current(): Promise<Held>;
    /** A token in place of a refused one. It waits for a renewal that is under way. */
    replace(refused: Held): Promise<Held>;
    /** Whose keys the newest token is for; null before the first one. */
    subject(): string | null;
    /** The service's time, in milliseconds since 1970; that of the machine until an answer has shown it. */
    serviceNow(): number;
    /** Sets the clock of the service, by the `Date` of an answer that arrived now. */
    learn(date: string | null): void;
    takeFrom(getToken: GetToken): void;
    /** Makes the next call get a new token. */
    expire(): void;
    /** Renews a token that is about to end. Called when the tab wakes, and by the timer. */
    wake(): void;
    /** Stops the timer, forgets the token. */
    close(): void;
}
/** Holds one token in memory, and renews it before it ends: one renewal at a time, however many calls wait. */
export declare function createTokens(parts: Parts): Tokens;
/** For the developer, too. */
export declare const awaited: () => EmbedError;
export {};
