import type { Project } from '@keyrail/contract/vendor/projects'
import { Button, Group, Skeleton, Stack } from '@mantine/core'
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { getProject, updateProject } from '../../api/projects.ts'
import { UsageDays, UsageTotal } from '../../components/daily-usage.tsx'
import { DeleteProtection } from '../../components/delete-protection.tsx'
import { Facts } from '../../components/facts.tsx'
import { counted } from '../../components/figures.ts'
import { CreateKeyLink, KeysOf } from '../../components/keys-of.tsx'
import { limitInWords } from '../../components/limits-in-words.ts'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { useHasRole } from '../../session/me.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { DeleteProjectDialog } from './delete-project.tsx'
import { EditProjectDialog } from './edit-project.tsx'
import { Fleet } from './fleet.tsx'
import { Shadow } from './shadow.tsx'

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
      {...(isEditor && { action: actionsOf(project) })}
      {...(!isEditor && { lead: 'An admin or an owner can change this project.' })}
    >
      <Loaded query={project} skeleton={<Skeleton h={480} />} noun="project">
        {found => <WholeProject project={found} isEditor={isEditor} />}
      </Loaded>
    </PageFrame>
  )
}

/** Their place is kept until the project is there. */
function actionsOf({ data: project, isLoading }: UseQueryResult<Project>) {
  if (isLoading) return <Skeleton h={36} w={192} maw="100%" />
  return project === undefined ? undefined : <Actions project={project} />
}

function Actions({ project }: { project: Project }) {
  const [isEditing, setEditing] = useState(false)
  return (
    <>
      <Group gap="xs">
        <Button variant="default" onClick={() => setEditing(true)}>
          Edit
        </Button>
        <CreateKeyLink noun="project" id={project.id} />
      </Group>
      <EditProjectDialog of={project} isOpen={isEditing} onClose={() => setEditing(false)} />
    </>
  )
}

/** As many as show who uses the project; the screen of keys has all. */
const keysMost = 5

function WholeProject({ project, isEditor }: { project: Project; isEditor: boolean }) {
  const { id } = project
  const env = useEnv()
  const of = { project_id: id }
  return (
    <>
      <Section title="Facts">
        <ProjectFacts project={project} requests={<UsageTotal of={of} env={env} />} />
      </Section>
      <Section title="Keys">
        <KeysOf noun="project" id={id} env={env} most={keysMost} />
      </Section>
      <Section title="Requests" lead="As your nodes report them, by UTC day.">
        <UsageDays of={of} env={env} />
      </Section>
      <Section
        title="Fleet"
        lead="The nodes that asked for the keys of this project in the last day. A node that was closed is gone."
      >
        <Fleet projectId={id} />
      </Section>
      <Shadow projectId={id} env={env} />
      {isEditor ? (
        <Section title="Delete">
          <DeleteProject project={project} />
        </Section>
      ) : null}
    </>
  )
}

function ProjectFacts({ project, requests }: { project: Project; requests: ReactNode }) {
  const { id, slug, key_prefix, policy_version, created_at, updated_at, default_rate_limits } = project
  return (
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
        { label: 'Requests', value: requests },
        {
          label: 'Default limits',
          value: default_rate_limits.length === 0 ? 'None' : <Limits rules={default_rate_limits} />,
        },
        { label: 'Scopes', value: <ScopeRules project={project} /> },
        { label: 'Lifetime of keys', value: lifetimeInWords(project) },
        { label: 'Created', value: <RelativeTime at={created_at} /> },
        { label: 'Changed', value: <RelativeTime at={updated_at} /> },
        ...(policy_version === null
          ? []
          : [{ label: 'Version', value: new Intl.NumberFormat().format(policy_version) }]),
      ]}
    />
  )
}

/** They hold for every key without limits of its own. */
const Limits = ({ rules }: { rules: Project['default_rate_limits'] }) => (
  <Stack gap={0}>
    {rules.map(rule => (
      <span key={rule.id}>{limitInWords(rule)}</span>
    ))}
  </Stack>
)

/** A process of the release before has no rule. */
function lifetimeInWords({ max_key_lifetime_days: days = null, lifetime }: Project): string {
  if (days === null) return 'Any'
  const older = lifetime === 'refuse' ? 'Older keys are refused.' : 'Older keys work, and are listed.'
  return `At most ${counted(days, 'day')}. ${older}`
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

function DeleteProject({ project }: { project: Project }) {
  const navigate = route.useNavigate()
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <DeleteProtection
        noun="project"
        isProtected={project.delete_protection}
        onChange={async delete_protection => {
          await updateProject({ id: project.id, body: { delete_protection } })
          await client.invalidateQueries({ queryKey: ['projects'] })
        }}
      >
        <Button
          variant="outline"
          color="red"
          disabled={project.delete_protection}
          onClick={() => setAsking(true)}
        >
          Delete project
        </Button>
      </DeleteProtection>
      <DeleteProjectDialog
        of={project}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onDeleted={() => navigate({ to: '/projects' })}
      />
    </>
  )
}
