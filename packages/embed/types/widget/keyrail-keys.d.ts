import { type EmbedClient } from '../client/embed-client.js';
import type { GetToken } from '../client/tokens.js';
import { type Messages } from './words/words.js';
declare global {
    interface HTMLElementTagNameMap {
        'keyrail-keys': KeyrailKeys;
    }
}
export type Density = 'comfortable' | 'compact';
/** The properties that a page sets. */
export interface KeyrailProps {
    getToken?: GetToken | null;
    client?: EmbedClient | null;
    baseUrl?: string | null;
    locale?: string | null;
    density?: Density | null;
    messages?: Messages | null;
}
/** This module is also imported where there is no DOM, for example while a server renders the page. */
declare const Base: typeof HTMLElement;
export declare const setServedFrom: (url: string) => void;
/**
 * `<keyrail-keys>`: a customer manages the API keys of its tenant. It needs `getToken`, and `baseUrl` unless the service has
 * served the script. Everything else about it can stay as it is.
 */
export declare class KeyrailKeys extends Base {
    #private;
    static readonly observedAttributes: string[];
    constructor();
    /**
     * Gets a token from your server. The call after a change gets its token from the new function; null forgets everything at
     * once, for a page that signs the person out.
     */
    get getToken(): GetToken | null;
    set getToken(getToken: GetToken | null);
    /** A client in place of `getToken` and `baseUrl`. */
    get client(): EmbedClient | null;
    set client(client: EmbedClient | null);
    /** Where the service is, such as `https://keys.example.com`. Also the attribute `base-url`. */
    get baseUrl(): string | null;
    set baseUrl(baseUrl: string | null);
    /** A BCP 47 tag; the language of the page without it. Also an attribute. */
    get locale(): string;
    set locale(locale: string | null);
    /** Also an attribute. */
    get density(): Density;
    set density(density: Density | null);
    /** Texts in place of the built-in ones, as plain text. */
    get messages(): Messages | undefined;
    set messages(messages: Messages | undefined | null);
    /** Gets a new token and loads the keys again. Call it when your page changes to another customer. */
    refresh(): Promise<void>;
    connectedCallback(): void;
    disconnectedCallback(): void;
    attributeChangedCallback(): void;
}
export {};
