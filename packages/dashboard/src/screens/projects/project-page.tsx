import type { Project } from '@keyrail/contract/vendor/projects'
import { Button, Skeleton, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteProject, getProject } from '../../api/projects.ts'
import { DeleteDialog } from '../../components/delete-dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { limitInWords } from '../../components/limits-in-words.ts'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { useHasRole } from '../../session/me.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { DefaultLimits } from './default-limits.tsx'
import { Fleet } from './fleet.tsx'
import { KnownScopes } from './known-scopes.tsx'
import { ProjectNames } from './project-names.tsx'

const route = getRouteApi('/shell/projects/$projectId')

export function ProjectPage() {
  const { projectId } = route.useParams()
  const isEditor = useHasRole('admin')
  const project = useQuery({
    queryKey: ['projects', 'one', shownWorkspaceId(), projectId],
    queryFn: ({ signal }) => getProject({ id: projectId }, { signal }),
  })
  return (
    <PageFrame
      title={project.data?.name ?? 'Project'}
      {...(!isEditor && { lead: 'An admin or an owner can change this project.' })}
    >
      <Loaded query={project} skeleton={<Skeleton h={480} />} noun="project">
        {found => <WholeProject project={found} isEditor={isEditor} />}
      </Loaded>
    </PageFrame>
  )
}

function WholeProject({ project, isEditor }: { project: Project; isEditor: boolean }) {
  const { id, slug, key_prefix, policy_version, created_at, updated_at, default_rate_limits } = project
  return (
    <>
      <Section title="Facts">
        <Facts
          facts={[
            { label: 'Id', copied: id },
            { label: 'Slug', copied: slug },
            {
              label: 'Key prefix',
              value: (
                <>
                  <code>{key_prefix}_live_…</code> and <code>{key_prefix}_test_…</code>
                </>
              ),
            },
            ...(policy_version === null
              ? []
              : [{ label: 'Version', value: new Intl.NumberFormat().format(policy_version) }]),
            { label: 'Created', value: <RelativeTime at={created_at} /> },
            { label: 'Changed', value: <RelativeTime at={updated_at} /> },
          ]}
        />
        {isEditor ? <ProjectNames project={project} /> : null}
      </Section>
      <Section title="Default limits" lead="They hold for every key without limits of its own.">
        {isEditor ? (
          <DefaultLimits project={project} />
        ) : default_rate_limits.length === 0 ? (
          'No limits.'
        ) : (
          <Stack gap={0}>
            {default_rate_limits.map(rule => (
              <span key={rule.id}>{limitInWords(rule)}</span>
            ))}
          </Stack>
        )}
      </Section>
      <Section
        title="Scopes"
        lead="What keys of this project may allow. Forms offer them, so that nobody types them wrong."
      >
        {isEditor ? <KnownScopes project={project} /> : <ScopeRules project={project} />}
      </Section>
      <Section title="Fleet" lead="The nodes that have asked for the keys of this project in the last day.">
        <Fleet projectId={id} />
      </Section>
      {isEditor ? (
        <Section title="Delete">
          <DeleteProject project={project} />
        </Section>
      ) : null}
    </>
  )
}

function ScopeRules({ project: { known_scopes, strict_scopes } }: { project: Project }) {
  if (known_scopes.length === 0 && !strict_scopes) return 'No list. A key may have any scope.'
  return (
    <Stack gap={0}>
      {known_scopes.length === 0 ? null : <span>{known_scopes.join(', ')}</span>}
      {strict_scopes ? <span>Other scopes are refused.</span> : null}
    </Stack>
  )
}

function DeleteProject({ project: { id, name } }: { project: Project }) {
  const client = useQueryClient()
  const navigate = route.useNavigate()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button variant="outline" color="red" onClick={() => setAsking(true)}>
        Delete project
      </Button>
      <DeleteDialog
        isOpen={isAsking}
        noun="project"
        id={id}
        name={name}
        onClose={() => setAsking(false)}
        onConfirm={async () => {
          await deleteProject({ id })
          await navigate({ to: '/projects' })
          client.removeQueries({ queryKey: ['projects', 'one', shownWorkspaceId(), id] })
          await client.invalidateQueries({ queryKey: ['projects'] })
          await client.invalidateQueries({ queryKey: ['keys'] })
        }}
      >
        <p>Nodes of this project verify nothing more. This cannot be undone. The slug is free again.</p>
      </DeleteDialog>
    </>
  )
}
