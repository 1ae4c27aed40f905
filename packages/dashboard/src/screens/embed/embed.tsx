import { archiveOf } from '@keyrail/contract/packages'
import { Anchor, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listProjects } from '../../api/projects.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { Section } from '../../components/section.tsx'
import { useHasRole } from '../../session/me.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { NamedChoice } from '../keys/named-choice.tsx'
import { workspaceQuery } from '../workspace/workspace-query.ts'
import classes from './embed.module.css'
import { Origins } from './origins.tsx'
import { pageSamples } from './page-samples.ts'
import { Playground } from './playground.tsx'
import { serverSamples } from './server-samples.ts'
import { ThemeEditor, ThemeFacts } from './theme.tsx'
import { readWidgetVersion } from './widget-version.ts'

/** Lets customers manage their own keys on pages of the company. */
export function Embed() {
  const workspace = useQuery(workspaceQuery())
  const isAdmin = useHasRole('admin')
  return (
    <PageFrame
      title="Embed"
      lead={
        isAdmin
          ? 'Your customers manage their own keys on your pages, with a token of five minutes that your server mints.'
          : 'Your customers manage their own keys on your pages. Only an admin or an owner can change the origins and the theme.'
      }
    >
      <Section
        title="Origins"
        lead="Pages with these origins may use embed tokens, live and test. One that you remove is refused from its next request on."
      >
        <Loaded query={workspace} skeleton={<Skeleton h={120} />}>
          {data => (isAdmin ? <Origins workspace={data} /> : <OriginList origins={data.embed_origins} />)}
        </Loaded>
      </Section>
      <Section
        title="Theme"
        lead="How the widget looks on your pages. It reads the theme with each session; a style of your page wins."
      >
        <Loaded query={workspace} skeleton={<Skeleton h={240} />}>
          {data => (isAdmin ? <ThemeEditor workspace={data} /> : <ThemeFacts theme={data.embed_theme} />)}
        </Loaded>
      </Section>
      <Section
        title="Code"
        lead={
          <>
            Your server needs a{' '}
            <Anchor
              underline="always"
              inherit
              renderRoot={props => <Link to="/settings/secret-keys" {...props} />}
            >
              secret key
            </Anchor>{' '}
            of the preset <code>embed</code>, of the environment that the page is for, as KEYRAIL_EMBED_KEY.
            It installs <Archive of="sdk" />; a page with a bundler installs <Archive of="embed" />.
          </>
        }
      >
        <Samples />
      </Section>
      <Section
        title="Playground"
        lead="What your customers see, in every state, on keys that exist only in this page. Nothing is sent. Copy the style that you like into your page."
      >
        <Loaded query={workspace} skeleton={<Skeleton h={36} w={140} />}>
          {data => <Playground theme={data.embed_theme} />}
        </Loaded>
      </Section>
    </PageFrame>
  )
}

const OriginList = ({ origins }: { origins: readonly string[] }) =>
  origins.length === 0 ? (
    <p className={classes.none}>No page may use embed tokens yet.</p>
  ) : (
    <ul className={classes.list}>
      {origins.map(origin => (
        <li key={origin}>
          <code>{origin}</code>
        </li>
      ))}
    </ul>
  )

function Samples() {
  const env = useEnv()
  const projects = useQuery({
    queryKey: ['projects', 'newest', shownWorkspaceId()],
    queryFn: ({ signal }) => listProjects({ query: { limit: 1 } }, { signal }),
  })
  const version = useQuery({ queryKey: ['widget version'], queryFn: readWidgetVersion })
  const [chosenId, setChosenId] = useState<string | null>(null)
  return (
    <Loaded query={projects} skeleton={<Skeleton h={320} />}>
      {({ data }) => {
        const place = {
          url: location.origin,
          projectId: chosenId ?? data[0]?.id ?? 'the-id-of-your-project',
          env,
        }
        return (
          <div className={classes.samples}>
            {data.length === 0 ? (
              <p className={classes.none}>Create a project first: its id belongs into this code.</p>
            ) : (
              <div className={classes.choice}>
                <NamedChoice noun="project" label="Project" value={place.projectId} onChange={setChosenId} />
              </div>
            )}
            <CodeBlock label="On your server" samples={serverSamples(place)} />
            <CodeBlock label="On your page" samples={pageSamples(place, version.data ?? null)} />
          </div>
        )
      }}
    </Loaded>
  )
}

/** A package, which the service has. */
const Archive = ({ of }: { of: 'sdk' | 'embed' }) => (
  <Anchor underline="always" inherit href={`/packages/${archiveOf(of)}`}>
    @keyrail/{of}
  </Anchor>
)
