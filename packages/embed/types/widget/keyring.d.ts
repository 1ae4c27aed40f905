import type { EmbedClient } from '../client/embed-client.js';
import { EmbedError } from '../client/embed-error.js';
import { type TokenChange } from '../client/tokens.js';
import type { EmbedKey, EmbedKeyUpdate, EmbedSession } from '../types.js';
import type { Emit } from './events.js';
import { type UsageFigures } from './usage.js';
/** What the widget shows, apart from its dialogs. */
export interface Shown {
    readonly session: EmbedSession | null;
    readonly keys: readonly EmbedKey[] | null;
    readonly hasMore: boolean;
    /** Why the newest load failed. */
    readonly trouble: EmbedError | null;
    readonly isLoading: boolean;
    /** Grows when another tenant's token comes: whatever belongs to the tenant before is gone. */
    readonly tenants: number;
}
export interface NewSecret {
    readonly key: string;
    /** For the old key of a rotation. */
    readonly oldEndsAt?: string | null;
}
/** The keys of a token's tenant: loads them, changes them, and forgets them with the tenant. */
export interface Keyring {
    readonly usage: UsageFigures;
    shown(): Shown;
    subscribe(onChange: () => void): () => void;
    /** The service's time, in milliseconds since 1970. */
    now(): number;
    load(): Promise<void>;
    /** Loads a list that is older than a minute, in a tab that is seen. */
    wake(): void;
    /** @throws {EmbedError} as all that change something. */
    create(settings: {
        name?: string;
        scopes: string[];
    }): Promise<NewSecret>;
    update(key: EmbedKey, settings: EmbedKeyUpdate): Promise<void>;
    rotate(key: EmbedKey, overlapHours: number): Promise<NewSecret>;
    pause(key: EmbedKey): Promise<void>;
    resume(key: EmbedKey): Promise<void>;
    revoke(key: EmbedKey): Promise<void>;
    /** Sets from where all those keys work that have no networks of their own. */
    restrict(networks: string[]): Promise<void>;
    onTokenChange(change: TokenChange): void;
    /** The page gives tokens by another function. */
    onNewSource(): void;
}
export declare function createKeyring(client: EmbedClient, emit: Emit): Keyring;
