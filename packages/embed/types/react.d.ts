import type * as React from 'react';
import type { KeyrailEvents } from './widget/events.js';
import './index.js';
import type { EmbedClient } from './client/embed-client.js';
import type { GetToken } from './client/tokens.js';
import type { Density, KeyrailKeys as KeyrailElement, KeyrailProps } from './widget/keyrail-keys.js';
import type { Messages } from './widget/words/words.js';
/** What an element of the page may have: `id`, `style`, `className`, `data-…`, `aria-…`, `onClick` and so on go to the element. */
type ElementProps = Omit<React.HTMLAttributes<KeyrailElement>, 'children' | 'dangerouslySetInnerHTML' | 'onError'>;
export interface KeyrailKeysProps extends ElementProps {
    /** It may be another function with each render. With another customer, give the component another `key`. */
    readonly getToken?: GetToken;
    readonly client?: EmbedClient;
    readonly baseUrl?: string;
    readonly messages?: Messages;
    readonly locale?: string;
    readonly density?: Density;
    readonly onCreated?: (detail: KeyrailEvents['created']) => void;
    readonly onUpdated?: (detail: KeyrailEvents['updated']) => void;
    readonly onRotated?: (detail: KeyrailEvents['rotated']) => void;
    readonly onPaused?: (detail: KeyrailEvents['paused']) => void;
    readonly onResumed?: (detail: KeyrailEvents['resumed']) => void;
    readonly onRevoked?: (detail: KeyrailEvents['revoked']) => void;
    readonly onRestricted?: (detail: KeyrailEvents['restricted']) => void;
    readonly onSessionEnded?: () => void;
    readonly onError?: (detail: KeyrailEvents['error']) => void;
}
/** The bare element, which React 19 sets properties on. */
declare module 'react' {
    namespace JSX {
        interface IntrinsicElements {
            'keyrail-keys': React.DetailedHTMLProps<React.HTMLAttributes<KeyrailElement>, KeyrailElement> & KeyrailProps;
        }
    }
}
/**
 * `<keyrail-keys>` for React 18 and 19: React 18 gives an element attributes only, and none of its events. A `ref` is the element
 * itself, for its `refresh()`.
 */
export declare const KeyrailKeys: React.ForwardRefExoticComponent<KeyrailKeysProps & React.RefAttributes<KeyrailElement>>;
export {};
