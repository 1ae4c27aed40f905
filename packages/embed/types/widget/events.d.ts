/** The `detail` of each event of the element. No event carries a key or a token. */
export interface KeyrailEvents {
    created: {
        id: string;
        name: string | null;
        display_prefix: string;
    };
    /** The expiry after the change. */
    updated: {
        id: string;
        name: string | null;
        expires_at: string | null;
    };
    /** `id` is the successor. */
    rotated: {
        id: string;
        rotated_from: string;
        display_prefix: string;
    };
    paused: {
        id: string;
    };
    resumed: {
        id: string;
    };
    revoked: {
        id: string;
    };
    /** From where all those keys work that have no networks of their own. */
    restricted: {
        allowed_cidrs: readonly string[];
    };
    'session-ended': Record<never, never>;
    error: {
        code: string;
        message: string;
        request_id: string | null;
    };
}
export type Emit = <N extends keyof KeyrailEvents>(name: N, detail: KeyrailEvents[N]) => void;
