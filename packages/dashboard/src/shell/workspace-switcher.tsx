import { Menu, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useReported } from '../components/use-reported.ts'
import { CheckIcon, ChevronIcon, PlusIcon } from '../icons.tsx'
import { useMe, useShownWorkspace, useSwitchWorkspace } from '../session/me.ts'
import classes from './workspace-switcher.module.css'

export function WorkspaceSwitcher() {
  const { workspaces } = useMe()
  const shown = useShownWorkspace()
  const switchTo = useReported(useSwitchWorkspace())
  return (
    <Menu width="target" position="bottom-start">
      <Menu.Target>
        <UnstyledButton className={classes.button}>
          <span className={classes.initial} aria-hidden="true">
            {[...shown.name][0]?.toUpperCase()}
          </span>
          <VisuallyHidden>Workspace: </VisuallyHidden>
          <span className={classes.name}>{shown.name}</span>
          <ChevronIcon size={16} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Workspaces</Menu.Label>
        {workspaces.map(({ id, name, role }) => (
          <Menu.Item
            key={id}
            onClick={() => (id === shown.id ? undefined : switchTo(id))}
            rightSection={id === shown.id ? <CheckIcon size={16} /> : null}
          >
            {name}
            <span className={classes.role}>{id === shown.id ? `${role}, shown` : role}</span>
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          leftSection={<PlusIcon size={16} />}
          renderRoot={props => <Link to="/workspaces/new" {...props} />}
        >
          New workspace
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
