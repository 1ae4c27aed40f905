import { ActionIcon, Menu, Tooltip, useMantineColorScheme, VisuallyHidden } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { AccountIcon, CheckIcon, DocsIcon, LeaveIcon, ThemeIcon } from '../icons.tsx'
import { useMe, useSignOut } from '../session/me.ts'
import { FleetDot } from './fleet-dot.tsx'
import classes from './foot.module.css'
import { docsAddress } from './navigation.ts'

const schemes = [
  ['light', 'Light'],
  ['dark', 'Dark'],
  ['auto', 'Like the system'],
] as const

export function Foot() {
  const me = useMe()
  const signOut = useSignOut()
  return (
    <>
      <FleetDot />
      <div className={classes.foot}>
        <Menu position="top-start">
          <Menu.Target>
            <button type="button" className={classes.person}>
              <AccountIcon />
              <VisuallyHidden>Account of </VisuallyHidden>
              <span className={classes.name}>{me.name ?? me.email}</span>
            </button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label>{me.email}</Menu.Label>
            <Menu.Item
              leftSection={<AccountIcon size={16} />}
              renderRoot={props => <Link to="/account" {...props} />}
            >
              Account
            </Menu.Item>
            <Menu.Item leftSection={<LeaveIcon size={16} />} onClick={() => void signOut()}>
              Sign out
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
        <ThemeMenu />
        <Tooltip label="Documentation">
          <ActionIcon
            variant="subtle"
            color="gray"
            component="a"
            href={docsAddress}
            target="_blank"
            rel="noreferrer"
            aria-label="Documentation (opens a new tab)"
          >
            <DocsIcon />
          </ActionIcon>
        </Tooltip>
      </div>
    </>
  )
}

function ThemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Menu position="top">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label="Theme" title="Theme">
          <ThemeIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {schemes.map(([scheme, label]) => (
          <Menu.Item
            key={scheme}
            // Mantine gives every item the role of one that is not chosen.
            renderRoot={props => (
              <button type="button" {...props} role="menuitemradio" aria-checked={colorScheme === scheme} />
            )}
            rightSection={colorScheme === scheme ? <CheckIcon size={16} /> : null}
            onClick={() => setColorScheme(scheme)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
