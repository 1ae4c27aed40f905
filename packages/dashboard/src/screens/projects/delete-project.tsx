import type { Project } from '@keyrail/contract/vendor/projects'
import { useQueryClient } from '@tanstack/react-query'
import { deleteProject } from '../../api/projects.ts'
import { DeleteDialog } from '../../components/delete-dialog.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'

interface DeleteProjectProps {
  readonly of: Project
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Leaves the page of the project, before it is read again. */
  readonly onDeleted?: () => Promise<void>
}

export function DeleteProjectDialog({ of: { id, name }, isOpen, onClose, onDeleted }: DeleteProjectProps) {
  const client = useQueryClient()
  return (
    <DeleteDialog
      isOpen={isOpen}
      noun="project"
      id={id}
      name={name}
      onClose={onClose}
      onConfirm={async () => {
        await deleteProject({ id })
        await onDeleted?.()
        client.removeQueries({ queryKey: ['projects', 'one', shownWorkspaceId(), id] })
        await client.invalidateQueries({ queryKey: ['projects'] })
        await client.invalidateQueries({ queryKey: ['keys'] })
      }}
    >
      <p>Nodes of this project verify nothing more. This cannot be undone. The slug is free again.</p>
    </DeleteDialog>
  )
}
