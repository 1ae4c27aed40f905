import type * as React from 'react'
import {
  createElement,
  forwardRef,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { KeyrailEvents } from './widget/events.ts'
import './index.ts'
import type { EmbedClient } from './client/embed-client.ts'
import type { GetToken } from './client/tokens.ts'
import type { Density, KeyrailKeys as KeyrailElement, KeyrailProps } from './widget/keyrail-keys.ts'
import type { Messages } from './widget/words/words.ts'

/** What an element of the page may have: `id`, `style`, `className`, `data-…`, `aria-…`, `onClick` and so on go to the element. */
type ElementProps = Omit<
  React.HTMLAttributes<KeyrailElement>,
  'children' | 'dangerouslySetInnerHTML' | 'onError'
>

export interface KeyrailKeysProps extends ElementProps {
  /** It may be another function with each render. With another customer, give the component another `key`. */
  readonly getToken?: GetToken
  readonly client?: EmbedClient
  readonly baseUrl?: string
  readonly messages?: Messages
  readonly locale?: string
  readonly density?: Density
  readonly onCreated?: (detail: KeyrailEvents['created']) => void
  readonly onUpdated?: (detail: KeyrailEvents['updated']) => void
  readonly onRotated?: (detail: KeyrailEvents['rotated']) => void
  readonly onPaused?: (detail: KeyrailEvents['paused']) => void
  readonly onResumed?: (detail: KeyrailEvents['resumed']) => void
  readonly onRevoked?: (detail: KeyrailEvents['revoked']) => void
  readonly onRestricted?: (detail: KeyrailEvents['restricted']) => void
  readonly onSessionEnded?: () => void
  readonly onError?: (detail: KeyrailEvents['error']) => void
}

/** The bare element, which React 19 sets properties on. */
declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'keyrail-keys': React.DetailedHTMLProps<React.HTMLAttributes<KeyrailElement>, KeyrailElement> &
        KeyrailProps
    }
  }
}

/** On a server there is no element whose properties could be set. */
const useSetting = typeof document === 'undefined' ? useEffect : useLayoutEffect

/**
 * `<keyrail-keys>` for React 18 and 19: React 18 gives an element attributes only, and none of its events. A `ref` is the element
 * itself, for its `refresh()`.
 */
export const KeyrailKeys: React.ForwardRefExoticComponent<
  KeyrailKeysProps & React.RefAttributes<KeyrailElement>
> = forwardRef(Keys)
// What developer tools call it.
KeyrailKeys.displayName = 'KeyrailKeys'

function Keys(props: KeyrailKeysProps, ref: React.ForwardedRef<KeyrailElement>) {
  const self = useRef<KeyrailElement>(null)
  useImperativeHandle(ref, () => self.current as KeyrailElement, [])
  const newest = useRef(props)
  const { getToken, client, baseUrl, messages, locale, density, className, ...others } = props
  // The element itself says what happens; an attribute of such a name would say nothing.
  const {
    onCreated,
    onUpdated,
    onRotated,
    onPaused,
    onResumed,
    onRevoked,
    onSessionEnded,
    onError,
    ...attributes
  } = others
  const hasToken = getToken !== undefined
  // One function for the life of the component, so that a render asks for no token.
  const [askNewest] = useState(() => async () => {
    const ask = newest.current.getToken
    if (ask === undefined) throw new Error('getToken is gone')
    // The element says what is wrong with anything else.
    return await (typeof ask === 'function' ? ask() : ask)
  })
  useSetting(() => {
    newest.current = props
  })
  // Before the settings, with which the element begins: it may fail at once.
  useSetting(() => {
    const element = self.current
    if (element === null) return
    const listening = new AbortController()
    const on = <N extends keyof KeyrailEvents>(name: N, call: (detail: KeyrailEvents[N]) => void) =>
      element.addEventListener(`keyrail-${name}`, event => call((event as CustomEvent).detail), {
        signal: listening.signal,
      })
    on('created', detail => newest.current.onCreated?.(detail))
    on('updated', detail => newest.current.onUpdated?.(detail))
    on('rotated', detail => newest.current.onRotated?.(detail))
    on('paused', detail => newest.current.onPaused?.(detail))
    on('resumed', detail => newest.current.onResumed?.(detail))
    on('revoked', detail => newest.current.onRevoked?.(detail))
    on('restricted', detail => newest.current.onRestricted?.(detail))
    on('session-ended', () => newest.current.onSessionEnded?.())
    on('error', detail => newest.current.onError?.(detail))
    return () => listening.abort()
  }, [])
  useSetting(() => {
    const element = self.current
    if (element === null) return
    element.client = client ?? null
    element.baseUrl = baseUrl ?? null
    element.messages = messages ?? null
    element.locale = locale ?? null
    element.density = density ?? null
  }, [client, baseUrl, messages, locale, density])
  useSetting(() => {
    if (self.current !== null) self.current.getToken = hasToken ? askNewest : null
  }, [hasToken, askNewest])
  return createElement('keyrail-keys', { ...attributes, ref: self, class: className })
}
