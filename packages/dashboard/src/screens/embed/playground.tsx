import type { EmbedTheme } from '@keyrail/contract/shared'
import { Button } from '@mantine/core'
import { useEffect, useMemo, useRef, useState } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import { useEnv } from '../../shell/shell-route.tsx'
import { createPlayedClient } from './played-client.ts'
import { PlayedPage } from './played-page.tsx'
import { playedState } from './played-states.ts'
import classes from './playground.module.css'
import { SceneControls, StyleControls } from './playground-controls.tsx'
import { firstScene, rightsOf, type Scene, styleOf } from './scene.ts'

const eventsMax = 20

/** The widget itself in every state, on keys that exist only in this page. Its script is loaded when it opens. */
export function Playground({ theme }: { theme: EmbedTheme }) {
  const [isOpen, setOpen] = useState(false)
  if (isOpen) return <OpenPlayground theme={theme} />
  return (
    <Button variant="default" onClick={() => setOpen(true)}>
      Try the widget
    </Button>
  )
}

function OpenPlayground({ theme }: { theme: EmbedTheme }) {
  const first = useRef<HTMLSelectElement>(null)
  const env = useEnv()
  const [scene, setScene] = useState<Scene>(firstScene)
  const [events, setEvents] = useState<readonly string[]>([])
  const set = (change: Partial<Scene>) => setScene(before => ({ ...before, ...change }))
  const state = playedState(scene.state)
  const { read, write } = rightsOf(scene)
  // Another state is another service.
  const client = useMemo(
    () => createPlayedClient({ state, rights: { read, write }, env, theme }),
    [state, read, write, env, theme],
  )
  // The button that opened it is gone.
  useEffect(() => first.current?.focus(), [])
  return (
    <div className={classes.playground}>
      <div className={classes.stage}>
        <SceneControls scene={scene} set={set} first={first} />
        <div className={classes.shown}>
          <PlayedPage
            client={client}
            opens={state.opens}
            refreshes={state.refreshes === true}
            scene={scene}
            onEvent={line => setEvents(before => [line, ...before].slice(0, eventsMax))}
          />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
          <div role="log" aria-label="What your page hears" className={classes.events} tabIndex={0}>
            {events.length === 0
              ? 'The events that your page hears appear here.'
              : // biome-ignore lint/suspicious/noArrayIndexKey: the same event may come twice.
                events.map((line, at) => <div key={events.length - at}>{line}</div>)}
          </div>
        </div>
      </div>
      <div className={classes.style}>
        <StyleControls scene={scene} set={set} />
      </div>
      <CodeBlock label="Style of the widget" samples={[{ name: 'CSS', code: styleOf(scene) }]} />
    </div>
  )
}
