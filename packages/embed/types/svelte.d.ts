import type { KeyrailEvents, KeyrailKeys, KeyrailProps } from './index.js'

type Handler<N extends keyof KeyrailEvents> = (event: CustomEvent<KeyrailEvents[N]>) => void

/** `<keyrail-keys>` in the templates of Svelte 5, which sets properties and hears events by itself. */
declare module 'svelte/elements' {
  interface SvelteHTMLElements {
    'keyrail-keys': HTMLAttributes<KeyrailKeys> &
      KeyrailProps & {
        'base-url'?: string
        'onkeyrail-created'?: Handler<'created'>
        'onkeyrail-updated'?: Handler<'updated'>
        'onkeyrail-rotated'?: Handler<'rotated'>
        'onkeyrail-paused'?: Handler<'paused'>
        'onkeyrail-resumed'?: Handler<'resumed'>
        'onkeyrail-revoked'?: Handler<'revoked'>
        'onkeyrail-restricted'?: Handler<'restricted'>
        'onkeyrail-session-ended'?: Handler<'session-ended'>
        'onkeyrail-error'?: Handler<'error'>
      }
  }
}
