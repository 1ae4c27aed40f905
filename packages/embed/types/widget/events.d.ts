/** What each event of the element says. None carries a key or a token. */
export interface KeyrailEvents {
    created: {
        id: string;
        name: string | null;
        display_prefix: string;
    };
    /** As it is now. */
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
    revoked: {
        id: string;
    };
    'session-ended': Record<never, never>;
    error: {
        code: string;
        message: string;
        request_id: string | null;
    };
}
export type Emit = <N extends keyof KeyrailEvents>(name: N, detail: KeyrailEvents[N]) => void;
