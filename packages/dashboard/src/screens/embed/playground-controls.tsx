import { NativeSelect, SegmentedControl, Stack, TextInput } from '@mantine/core'
import type { Ref } from 'react'
import { ColourInput } from './colour-input.tsx'
import { playedChoices, playedState } from './played-states.ts'
import type { Scene, SetScene } from './scene.ts'

interface ControlsProps {
  readonly scene: Scene
  readonly set: SetScene
}

const rights = [
  { value: 'manage', label: 'Read and change keys' },
  { value: 'read', label: 'Read keys' },
  { value: 'create', label: 'Create keys, without reading them' },
]
const languages = [
  { value: 'en', label: 'English' },
  { value: 'de', label: 'Deutsch' },
  { value: 'fr', label: 'Français' },
  { value: 'es', label: 'Español' },
  { value: 'pt', label: 'Português' },
  { value: 'ja', label: '日本語' },
]
/** Two ways each; the first one is the usual. */
const pairs = [
  ['scheme', 'Theme of the page', ['light', 'Light page'], ['dark', 'Dark page']],
  ['width', 'Width of the page', ['wide', 'Wide'], ['narrow', '320 px']],
  ['density', 'Density', ['comfortable', 'Comfortable'], ['compact', 'Compact']],
  ['direction', 'Direction of the page', ['ltr', 'Left to right'], ['rtl', 'Right to left']],
] as const

/** What a customer meets, and where. */
export function SceneControls({ scene, set, first }: ControlsProps & { first: Ref<HTMLSelectElement> }) {
  const state = playedState(scene.state)
  const setRights = (may: string) => {
    const needsMore = state.opens !== undefined && may !== 'manage'
    set({ may, ...(needsMore && { state: 'keys' }) })
  }
  return (
    <Stack gap="sm">
      <NativeSelect
        ref={first}
        label="State"
        description={state.says}
        inputWrapperOrder={['label', 'input', 'description']}
        data={playedChoices(scene.may === 'manage')}
        value={scene.state}
        onChange={event => set({ state: event.currentTarget.value })}
      />
      <NativeSelect
        label="What the token may do"
        data={rights}
        value={scene.may}
        onChange={event => setRights(event.currentTarget.value)}
      />
      <NativeSelect
        label="Language"
        data={languages}
        value={scene.language}
        onChange={event => set({ language: event.currentTarget.value })}
      />
      {pairs.map(([field, label, ...ways]) => (
        <SegmentedControl
          key={field}
          aria-label={label}
          data={ways.map(([value, label]) => ({ value, label }))}
          value={scene[field]}
          onChange={value => set({ [field]: value })}
        />
      ))}
    </Stack>
  )
}

const colours = [
  ['accent', 'Accent in the page', '#1d6a58'],
  ['danger', 'Danger', '#b3261e'],
  ['ground', 'Ground', '#ffffff'],
  ['text', 'Text', '#17211e'],
] as const

/** What the style sheet of the page says. */
export const StyleControls = ({ scene, set }: ControlsProps) => (
  <>
    {colours.map(([field, label, unset]) => (
      <ColourInput
        key={field}
        label={label}
        value={scene[field]}
        unset={unset}
        onChange={value => set({ [field]: value })}
      />
    ))}
    <TextInput
      label="Radius in the page"
      placeholder="6"
      inputMode="numeric"
      maxLength={2}
      value={scene.radius}
      onChange={event => set({ radius: event.currentTarget.value })}
    />
    <TextInput
      label="Font"
      placeholder="system-ui, sans-serif"
      autoComplete="off"
      spellCheck={false}
      maxLength={100}
      value={scene.font}
      onChange={event => set({ font: event.currentTarget.value })}
    />
  </>
)
