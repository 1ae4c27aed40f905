import { AppShell, Burger, Button, Group, Kbd, VisuallyHidden } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Outlet, useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { palette } from '../components/palette-store.ts'
import { useOnline } from '../components/use-online.ts'
import { Mark, SearchIcon } from '../icons.tsx'
import { useShownWorkspace } from '../session/me.ts'
import { currentToken, onToken } from '../session/token.ts'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { Foot } from './foot.tsx'
import { NavigationLinks } from './navigation-links.tsx'
import { Palette } from './palette.tsx'
import classes from './shell.module.css'
import { useEnv } from './shell-route.tsx'
import { WorkspaceSwitcher } from './workspace-switcher.tsx'

const isMac = /mac|iphone|ipad/i.test(navigator.platform)

/** What surrounds every screen of a workspace. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const isOnline = useOnline()
  const { pathname } = useLocation()
  const env = useEnv()
  const { id } = useShownWorkspace()
  // biome-ignore lint/correctness/useExhaustiveDependencies: each navigation closes the drawer.
  useEffect(close, [pathname])
  useEffect(
    () =>
      onToken(() => {
        if (currentToken() === null) location.assign('/app/sign-in')
      }),
    [],
  )
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 248, breakpoint: 'md', collapsed: { mobile: !isOpen } }}
      transitionDuration={120}
    >
      <a className={classes.skip} href="#main">
        Skip to the page
      </a>
      <AppShell.Header className={classes.header}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
              aria-expanded={isOpen}
            />
            <Mark />
            <span className={classes.brand}>Keyrail</span>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <Button
              variant="default"
              size="xs"
              leftSection={<SearchIcon size={14} />}
              rightSection={<Kbd size="xs">{isMac ? '⌘K' : 'Ctrl K'}</Kbd>}
              visibleFrom="sm"
              onClick={palette.open}
            >
              Find
            </Button>
            <Button variant="default" size="xs" px="xs" hiddenFrom="sm" onClick={palette.open}>
              <SearchIcon size={14} />
              <VisuallyHidden>Find</VisuallyHidden>
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={classes.side} aria-label="Keyrail">
        <div className={classes.switcher}>
          <WorkspaceSwitcher />
          <EnvironmentSwitch />
        </div>
        <div className={classes.links}>
          <NavigationLinks />
        </div>
        <Foot />
      </AppShell.Navbar>
      <AppShell.Main id="main">
        {env === 'test' ? (
          <p className={classes.band} role="note">
            Test environment
          </p>
        ) : null}
        <div role="status">
          {isOnline ? null : (
            <p className={classes.offline}>
              You are offline. What you see may be old; the page goes on by itself.
            </p>
          )}
        </div>
        <Outlet key={`${id} ${env}`} />
      </AppShell.Main>
      <Palette />
    </AppShell>
  )
}
