import { h, render } from 'preact'
import { createEmbedClient, type EmbedClient } from '../client/embed-client.ts'
import type { GetToken } from '../client/tokens.ts'
import { App } from './app.tsx'
import type { KeyrailEvents } from './events.ts'
import css from './keyrail-keys.css?inline'
import { createKeyring, type Keyring } from './keyring.ts'
import { localeAround } from './locale.ts'
import { type Messages, wordsFor } from './words/words.ts'

declare global {
  interface HTMLElementTagNameMap {
    'keyrail-keys': KeyrailKeys
  }
}

export type Density = 'comfortable' | 'compact'

/** The properties that a page sets. */
export interface KeyrailProps {
  getToken?: GetToken | null
  client?: EmbedClient | null
  baseUrl?: string | null
  locale?: string | null
  density?: Density | null
  messages?: Messages | null
}

/** This module is also imported where there is no DOM, for example while a server renders the page. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement

let sheet: CSSStyleSheet | undefined

/** Where the service is, if the service itself has served this script. */
let servedFrom: string | null = null
export const setServedFrom = (url: string): void => {
  servedFrom = url
}

interface Running {
  readonly client: EmbedClient
  readonly keyring: Keyring
  /** The client or the address that the keyring was made from. Another one makes another keyring. */
  readonly madeFrom: unknown
  /** Whether the client ends with the element; a client that the page gives does not. */
  readonly isOwn: boolean
  /** Stops telling the keyring of new tokens. */
  readonly unsubscribe: (() => void) | undefined
}

/**
 * `<keyrail-keys>`: a customer manages the API keys of its tenant. It needs `getToken`, and `baseUrl` unless the service has
 * served the script. Everything else about it can stay as it is.
 */
export class KeyrailKeys extends Base {
  static readonly observedAttributes = ['base-url', 'locale', 'density']

  #getToken: GetToken | null = null
  #client: EmbedClient | null = null
  #baseUrl: string | null = null
  #locale: string | null = null
  #density: string | null = null
  #messages: Messages | undefined
  #running: Running | null = null
  #isWaiting = false
  #languages: MutationObserver | undefined

  constructor() {
    super()
    sheet ??= new CSSStyleSheet()
    // The DOM of Jest has no way to fill it.
    if (sheet.cssRules.length === 0) sheet.replaceSync?.(css)
    this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet]
    // What a page has set before this script has run would hide the accessors.
    for (const [name, value] of Object.entries(this)) {
      Reflect.deleteProperty(this, name)
      Reflect.set(this, name, value)
    }
  }

  /**
   * Gets a token from your server. The call after a change gets its token from the new function; null forgets everything at
   * once, for a page that signs the person out.
   */
  get getToken(): GetToken | null {
    return this.#getToken
  }
  set getToken(getToken: GetToken | null) {
    this.#getToken = getToken ?? null
    if (this.#running?.isOwn) {
      const { client, keyring } = this.#running
      if (this.#getToken === null) this.#stop()
      else {
        client.takeTokensFrom(this.#getToken)
        keyring.onNewSource()
      }
    }
    this.#update()
  }

  /** A client in place of `getToken` and `baseUrl`. */
  get client(): EmbedClient | null {
    return this.#client
  }
  set client(client: EmbedClient | null) {
    this.#client = client
    this.#update()
  }

  /** Where the service is, such as `https://keys.example.com`. Also the attribute `base-url`. */
  get baseUrl(): string | null {
    return this.#baseUrl ?? this.getAttribute('base-url') ?? servedFrom
  }
  set baseUrl(baseUrl: string | null) {
    this.#baseUrl = baseUrl
    this.#update()
  }

  /** A BCP 47 tag; the language of the page without it. Also an attribute. */
  get locale(): string {
    return this.#locale ?? this.getAttribute('locale') ?? localeAround(this)
  }
  set locale(locale: string | null) {
    this.#locale = locale
    this.#update()
  }

  /** Also an attribute. */
  get density(): Density {
    return (this.#density ?? this.getAttribute('density')) === 'compact' ? 'compact' : 'comfortable'
  }
  set density(density: Density | null) {
    this.#density = density
    this.#update()
  }

  /** Texts in place of the built-in ones, as plain text. */
  get messages(): Messages | undefined {
    return this.#messages
  }
  set messages(messages: Messages | undefined | null) {
    this.#messages = messages ?? undefined
    this.#update()
  }

  /** Gets a new token and loads the keys again. Call it when your page changes to another customer. */
  async refresh(): Promise<void> {
    this.#draw()
    if (this.#running === null) return
    this.#running.client.renewToken()
    await this.#running.keyring.load()
  }

  connectedCallback(): void {
    this.#watchLanguage()
    // A dialog that is moved with the element is no longer modal.
    const dialog = this.shadowRoot?.querySelector('dialog')
    if (dialog != null && !dialog.matches(':modal')) {
      dialog.removeAttribute('open')
      dialog.showModal()
    }
    this.#update()
  }

  disconnectedCallback(): void {
    // An element that is moved is connected again at once, and keeps what was typed.
    queueMicrotask(() => {
      if (this.isConnected) return
      this.#languages?.disconnect()
      this.#stop()
    })
  }

  attributeChangedCallback(): void {
    this.#update()
  }

  /** A page may change its language, or that of a part around the element. */
  #watchLanguage(): void {
    this.#languages ??= new MutationObserver(() => this.#update())
    this.#languages.disconnect()
    for (const root of [document, this.getRootNode()])
      this.#languages.observe(root, { subtree: true, attributeFilter: ['lang'] })
  }

  /** Once for all properties that are set together. */
  #update(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    queueMicrotask(() => {
      this.#isWaiting = false
      this.#draw()
    })
  }

  #draw(): void {
    if (!this.isConnected || this.shadowRoot === null) return
    const madeFrom = this.#client ?? this.baseUrl
    if (this.#running?.madeFrom !== madeFrom) this.#stop()
    if (this.#running === null) this.#start(madeFrom)
    if (this.#running === null) return
    const words = wordsFor(this.locale, this.#messages)
    const { keyring } = this.#running
    render(h(App, { keyring, words, density: this.density }), this.shadowRoot)
  }

  #start(madeFrom: unknown): void {
    const getToken = this.#getToken
    const client =
      this.#client ??
      // Without an address, each call says so.
      (getToken && createEmbedClient({ baseUrl: this.baseUrl ?? '', getToken }))
    // The page has not set everything yet, or the person is signed out.
    if (client === null) return
    const keyring = createKeyring(client, (name, detail) => this.#emit(name, detail))
    // A client that a test of the page has made may have no tokens.
    const unsubscribe = client.onTokenChange?.(keyring.onTokenChange)
    this.#running = { client, keyring, madeFrom, isOwn: this.#client === null, unsubscribe }
    void keyring.load()
  }

  #stop(): void {
    if (this.shadowRoot !== null) render(null, this.shadowRoot)
    this.#running?.unsubscribe?.()
    if (this.#running?.isOwn) this.#running.client.close()
    this.#running = null
  }

  #emit<N extends keyof KeyrailEvents>(name: N, detail: KeyrailEvents[N]): void {
    this.dispatchEvent(new CustomEvent(`keyrail-${name}`, { detail, bubbles: true, composed: true }))
  }
}
