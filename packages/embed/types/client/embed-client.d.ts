import type { CreatedEmbedKey, DisableBody, EmbedKey, EmbedKeyCreate, EmbedKeys, EmbedKeyUpdate, EmbedSession, EmbedTenant, EmbedTenantUpdate, KeyUsage, RevokeBody, RotateBody, RotatedEmbedKey } from '../types.js';
import { type GetToken, type TokenChange } from './tokens.js';
/** A client for one tenant's keys, with a token that renews itself. It keeps no key. */
export interface EmbedClient {
    /** The tenant of the token, and what the token may do. */
    session(): Promise<EmbedSession>;
    /** The tenant's keys, newest first: at most 100 in one answer, 50 by default. */
    list(query?: EmbedKeyQuery): Promise<EmbedKeys>;
    /** Creates a key. Only this answer has the key itself. */
    create(settings?: EmbedKeyCreate): Promise<CreatedEmbedKey>;
    /** Renames a key, lets it expire earlier, or sets its networks. Replaces the fields that it names. */
    update(id: string, settings: EmbedKeyUpdate): Promise<EmbedKey>;
    /** Issues a successor. The old key works until the overlap ends, 24 hours by default. */
    rotate(id: string, settings?: RotateBody): Promise<RotatedEmbedKey>;
    /** Revokes a key for good. Repeating it changes nothing. */
    revoke(id: string, settings?: RevokeBody): Promise<EmbedKey>;
    /** Pauses a key: its requests are refused until it is resumed. Repeating it changes nothing. */
    disable(id: string, settings?: DisableBody): Promise<EmbedKey>;
    /** Resumes a key that the tenant has paused. */
    enable(id: string): Promise<EmbedKey>;
    /** Sets from which networks those keys of the tenant may be used that have none of their own. */
    updateTenant(settings: EmbedTenantUpdate): Promise<EmbedTenant>;
    /** Requests by UTC day, 30 days by default. */
    usage(id: string, query?: {
        days?: number;
    }): Promise<KeyUsage>;
    /** Makes the next call get a new token, for example after the person has changed accounts. */
    renewToken(): void;
    /** Replaces the function that gets tokens. The next call gets its token from the new one. */
    takeTokensFrom(getToken: GetToken): void;
    /** Calls with each change that `onTokenChange` of the options hears of. The answer ends that. */
    onTokenChange(call: (change: TokenChange) => void): () => void;
    /** The service's time by its newest answer, in milliseconds since 1970: the clock of the machine may be wrong. */
    now(): number;
    /** Ends running calls and forgets the token. */
    close(): void;
}
export interface EmbedKeyQuery {
    readonly limit?: number;
    readonly cursor?: string;
    readonly include_revoked?: boolean;
}
export interface EmbedClientOptions {
    /** Where the service is, such as `https://keys.example.com`. */
    readonly baseUrl: string;
    /** Gets a token from your server. It is called again whenever a token is about to end, or was refused. */
    readonly getToken: GetToken;
    /**
     * Called when a new token belongs to another tenant, project or environment (`tenant`), or may do something else
     * (`scopes`). After `tenant`, running calls fail with `tenant_changed`. `late` means that `getToken` has not resolved for five
     * seconds: calls wait for it ten more, and then fail with `token_awaited`.
     */
    readonly onTokenChange?: (change: TokenChange) => void;
}
export declare function createEmbedClient({ baseUrl, getToken, onTokenChange }: EmbedClientOptions): EmbedClient;
