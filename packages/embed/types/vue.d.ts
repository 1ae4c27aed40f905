import type { KeyrailEvents, KeyrailProps } from './index.js'

type Handler<N extends keyof KeyrailEvents> = (event: CustomEvent<KeyrailEvents[N]>) => void

/** `<keyrail-keys>` in the templates of Vue, which sets properties and hears events by itself. */
declare module 'vue' {
  interface GlobalComponents {
    'keyrail-keys': new () => {
      readonly $props: KeyrailProps & {
        onKeyrailCreated?: Handler<'created'>
        onKeyrailUpdated?: Handler<'updated'>
        onKeyrailRotated?: Handler<'rotated'>
        onKeyrailPaused?: Handler<'paused'>
        onKeyrailResumed?: Handler<'resumed'>
        onKeyrailRevoked?: Handler<'revoked'>
        onKeyrailRestricted?: Handler<'restricted'>
        onKeyrailSessionEnded?: Handler<'session-ended'>
        onKeyrailError?: Handler<'error'>
      }
    }
  }
}
