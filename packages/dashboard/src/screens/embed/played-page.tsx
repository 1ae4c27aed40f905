import { useEffect, useRef, useState } from 'react'
import type { EmbedClient } from '../../../../embed/src/client/embed-client.ts'
import type { PlayedDialog } from './played-states.ts'
import { openDialog, refreshList } from './played-steps.ts'
import classes from './playground.module.css'
import { propertiesOf, type Scene } from './scene.ts'

/** What the playground uses of the element. */
interface Widget extends HTMLElement {
  client: EmbedClient | null
  density: string
  locale: string
  refresh(): Promise<void>
}

/** The very file that pages of customers load. */
const script = '/embed/v1/keyrail-keys.js'
const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page of yours</title>
<meta name="viewport" content="width=device-width"><script type="module" src="${script}"></script></head>
<body><keyrail-keys></keyrail-keys></body></html>`

const eventNames = [
  'created',
  'updated',
  'rotated',
  'paused',
  'resumed',
  'revoked',
  'restricted',
  'session-ended',
  'error',
].map(name => `keyrail-${name}`)

interface PlayedPageProps {
  readonly client: EmbedClient
  readonly opens: PlayedDialog | undefined
  /** Whether the page asks for the list again. */
  readonly refreshes: boolean
  readonly scene: Scene
  /** Receives each event of the widget, as a line. */
  readonly onEvent: (line: string) => void
}

/** A page of a company in a frame, so that a dialog of the widget covers this page only. */
export function PlayedPage({ client, opens, refreshes, scene, onEvent }: PlayedPageProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [state, setState] = useState<'loading' | 'loaded' | 'missing'>('loading')
  const listener = useRef(onEvent)
  listener.current = onEvent
  const load = () => {
    const widget = widgetIn(frame)
    for (const name of eventNames)
      widget?.addEventListener(name, event =>
        listener.current(`${name} ${JSON.stringify((event as CustomEvent).detail)}`),
      )
    setState(widget === null ? 'missing' : 'loaded')
  }
  useEffect(() => {
    const widget = widgetIn(frame)
    if (widget === null || state !== 'loaded') return
    widget.client = client
    const leaving = new AbortController()
    // A step that fails after the person has chosen another state needs no report.
    if (opens !== undefined) openDialog(widget, opens, leaving.signal).catch(() => {})
    if (refreshes) refreshList(widget, leaving.signal).catch(() => {})
    return () => leaving.abort()
  }, [state, client, opens, refreshes])
  useEffect(() => {
    const widget = widgetIn(frame)
    if (widget === null || state !== 'loaded') return
    const { documentElement, body } = widget.ownerDocument
    documentElement.dir = scene.direction
    documentElement.style.colorScheme = scene.scheme
    body.style.margin = '16px'
    body.style.background = 'light-dark(#fff, #161c1a)'
    Object.assign(widget, { density: scene.density, locale: scene.language })
    widget.style.cssText = ''
    for (const [name, value] of propertiesOf(scene)) widget.style.setProperty(name, value)
  }, [state, scene])
  if (state === 'missing')
    return <p className={classes.none}>The widget could not be loaded from {script}.</p>
  return (
    <iframe
      ref={frame}
      title="The widget on a page of yours"
      className={classes.page}
      data-width={scene.width}
      srcDoc={page}
      onLoad={load}
    />
  )
}

/** Null until its script has run. */
function widgetIn(frame: { readonly current: HTMLIFrameElement | null }): Widget | null {
  const widget = frame.current?.contentDocument?.querySelector<Widget>('keyrail-keys')
  return widget?.shadowRoot == null ? null : widget
}
