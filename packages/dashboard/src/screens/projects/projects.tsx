import type { Project } from '@keyrail/contract/vendor/projects'
import { Anchor, Button } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listProjects } from '../../api/projects.ts'
import { Clip } from '../../components/clip.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { createSamples } from '../../components/create-samples.ts'
import { Empty } from '../../components/empty.tsx'
import { limitsInWords } from '../../components/limits-in-words.ts'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { useList } from '../../components/use-list.ts'
import { useHasRole } from '../../session/me.ts'
import { useCreating } from '../../shell/use-creating.ts'
import { CreateProject } from './create-project.tsx'
import { DeleteProjectDialog } from './delete-project.tsx'
import { EditProjectDialog } from './edit-project.tsx'

const route = getRouteApi('/shell/projects')

const columns: Column<Project>[] = [
  {
    header: 'Name',
    cell: ({ id, name }) => (
      <Anchor renderRoot={props => <Link to="/projects/$projectId" params={{ projectId: id }} {...props} />}>
        <Clip text={name} />
      </Anchor>
    ),
    sortBy: ({ name }) => name,
  },
  {
    header: 'Slug',
    cell: ({ slug }) => (
      <code>
        <Clip text={slug} isNarrow />
      </code>
    ),
    from: 'sm',
    sortBy: ({ slug }) => slug,
  },
  {
    header: 'Key prefix',
    cell: ({ key_prefix }) => <code>{key_prefix}</code>,
    sortBy: ({ key_prefix }) => key_prefix,
  },
  {
    header: 'Default limits',
    cell: ({ default_rate_limits }) => <Clip text={limitsInWords(default_rate_limits)} />,
    from: 'md',
  },
  {
    header: 'Created',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
    from: 'sm',
    sortBy: ({ created_at }) => created_at,
  },
]

export function Projects() {
  const { q } = route.useSearch()
  const navigate = route.useNavigate()
  const isEditor = useHasRole('admin')
  const [isCreating, setCreating] = useCreating(isEditor)
  const [changing, setChanging] = useState<{
    readonly project: Project
    readonly how: 'edit' | 'delete'
  } | null>(null)
  const close = () => setChanging(null)
  const list = useList('projects', listProjects, { q })
  const search = (text: string) =>
    void navigate({ search: now => ({ ...now, q: text === '' ? undefined : text }), replace: true })
  return (
    <PageFrame
      title="Projects"
      lead={
        isEditor
          ? 'A project is one API that Keyrail protects, in live and in test.'
          : 'A project is one API that Keyrail protects, in live and in test. An admin or an owner can create one.'
      }
      {...(isEditor && {
        action: <Button onClick={() => setCreating(true)}>Create project</Button>,
      })}
    >
      <SearchField label="Search by name or id" value={q ?? ''} onSearch={search} />
      <ListTable
        label="Projects"
        list={list}
        idOf={({ id }) => id}
        columns={columns}
        empty={<NoProjects isEditor={isEditor} />}
        onClearFilters={q === undefined ? undefined : () => search('')}
        menu={project => (
          <RowMenu
            name={project.name}
            page={`/projects/${project.id}`}
            copied={{ id: project.id, slug: project.slug }}
            actions={
              isEditor
                ? [
                    { label: 'Edit', onChoose: () => setChanging({ project, how: 'edit' }) },
                    {
                      label: 'Delete project',
                      onChoose: () => setChanging({ project, how: 'delete' }),
                      isFinal: true,
                    },
                  ]
                : []
            }
          />
        )}
      />
      {changing === null ? null : changing.how === 'edit' ? (
        <EditProjectDialog of={changing.project} isOpen onClose={close} />
      ) : (
        <DeleteProjectDialog of={changing.project} isOpen onClose={close} />
      )}
      <CreateProject isOpen={isCreating} onClose={() => setCreating(false)} />
    </PageFrame>
  )
}

const NoProjects = ({ isEditor }: { readonly isEditor: boolean }) => (
  <Empty title="No projects yet">
    <p>
      {isEditor ? 'Create the first one here, or from your backend.' : 'Your backend can create one, too.'}
    </p>
    <CodeBlock
      label="Create a project"
      samples={createSamples(location.origin, 'projects', { name: 'Payments', slug: 'payments' })}
    />
  </Empty>
)
