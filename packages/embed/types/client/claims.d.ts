/** What the browser reads in a token. It trusts none of it: the service decides with every request. */
export interface Claims {
    /** Whose keys: another text means another tenant, project or environment. */
    readonly subject: string;
    readonly scopes: string;
    /** Null if the token does not say. Both in milliseconds since 1970. */
    readonly issuedAt: number | null;
    readonly expiresAt: number | null;
}
/** Reads the claims of a JWT; null if the text is none. */
export declare function readClaims(token: string): Claims | null;
