import type { EmbedTheme } from '@keyrail/contract/shared'
import type { Workspace } from '@keyrail/contract/vendor/workspace'
import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateWorkspace } from '../../api/workspaces.ts'
import { Facts } from '../../components/facts.tsx'
import { PageForm } from '../../components/form-frames.tsx'
import { faultOfLogoText, unlessStored } from '../../components/name-rules.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { workspaceQuery } from '../workspace/workspace-query.ts'
import { ColourInput, isColour } from './colour-input.tsx'
import { contrastLeast, contrastOf, textOn } from './contrast.ts'
import classes from './theme.module.css'

const radiusMax = 24
const logoTextMax = 40

/** The fields as typed; an empty one is not set. */
interface Draft extends Record<string, string> {
  accent: string
  radius: string
  logo_text: string
}

const toDraft = ({ accent, radius, logo_text }: EmbedTheme): Draft => ({
  accent: accent ?? '',
  radius: radius === null ? '' : String(radius),
  logo_text: logo_text ?? '',
})

const toTheme = ({ accent, radius, logo_text }: Draft): EmbedTheme => ({
  accent: accent.trim() === '' ? null : accent.trim(),
  radius: radius.trim() === '' ? null : Number(radius),
  logo_text: logo_text.trim() === '' ? null : logo_text.trim(),
})

/** How the widget looks on the pages of the company, with a preview of what is typed. */
export function ThemeEditor({ workspace }: { workspace: Workspace }) {
  const client = useQueryClient()
  const form = useForm<Draft>({
    mode: 'controlled',
    initialValues: toDraft(workspace.embed_theme),
    validate: {
      accent: text =>
        text.trim() === '' || isColour(text.trim()) ? null : 'Enter a colour such as #1d6a58, or nothing.',
      radius: text =>
        text.trim() === '' || (/^\d+$/.test(text.trim()) && Number(text) <= radiusMax)
          ? null
          : `Enter a whole number from 0 to ${radiusMax}, or nothing.`,
      logo_text: unlessStored(workspace.embed_theme.logo_text ?? '', faultOfLogoText),
    },
  })
  const changed = (draft: Draft) => {
    const { logo_text, ...rest } = toTheme(draft)
    return draft.logo_text === (workspace.embed_theme.logo_text ?? '') ? rest : { ...rest, logo_text }
  }
  const submission = useFormAction(form, async draft => {
    const next = await updateWorkspace({ body: { embed_theme: changed(draft) } })
    client.setQueryData(workspaceQuery().queryKey, next)
    form.setValues(toDraft(next.embed_theme))
    notifications.show({ message: 'The theme is saved.' })
  })
  const { accent, radius } = form.values
  return (
    <div className={classes.editor}>
      <PageForm {...submission} submit="Save theme" isPrimary={false}>
        <ColourInput
          label="Accent"
          description="The colour of buttons."
          unset={plain.light}
          {...form.getInputProps('accent')}
        />
        <TextInput
          label="Radius"
          description="Of corners, in pixels."
          placeholder="6"
          inputMode="numeric"
          maxLength={2}
          {...form.getInputProps('radius')}
        />
        <TextInput
          label="Logo text"
          description="Stands above the keys, such as the name of your API."
          maxLength={logoTextMax}
          {...form.getInputProps('logo_text')}
        />
      </PageForm>
      <Preview
        theme={{
          ...toTheme(form.values),
          accent: isColour(accent.trim()) ? accent.trim() : null,
          radius: /^\d+$/.test(radius.trim()) ? Math.min(Number(radius), radiusMax) : null,
        }}
      />
    </div>
  )
}

/** What the widget does where nothing is set. */
const plain = { light: '#1d6a58', dark: '#6fd0b4', radius: 6 }
const grounds = { light: '#ffffff', dark: '#141917' }

function Preview({ theme }: { theme: EmbedTheme }) {
  return (
    <figure className={classes.preview} aria-label="Preview">
      {(['light', 'dark'] as const).map(scheme => {
        const accent = theme.accent ?? plain[scheme]
        const contrast = contrastOf(accent, grounds[scheme])
        return (
          <div key={scheme} className={classes.sample}>
            <div className={`${classes.page} ${classes[scheme]}`}>
              <span className={classes.logo}>{theme.logo_text ?? 'API keys'}</span>
              <span
                className={classes.button}
                style={{
                  backgroundColor: accent,
                  color: textOn(accent),
                  borderRadius: theme.radius ?? plain.radius,
                }}
              >
                Create key
              </span>
            </div>
            <p className={classes.contrast}>
              {scheme === 'light' ? 'On a light page' : 'On a dark page'}: text{' '}
              {contrastOf(accent, textOn(accent)).toFixed(1)} to 1, button {contrast.toFixed(1)} to 1
              {contrast < contrastLeast ? `. It is hard to see: ${contrastLeast} to 1 is the least.` : '.'}
            </p>
          </div>
        )
      })}
    </figure>
  )
}

export const ThemeFacts = ({ theme }: { theme: EmbedTheme }) => (
  <Facts
    facts={[
      { label: 'Accent', value: theme.accent ?? 'As it comes' },
      { label: 'Radius', value: theme.radius === null ? 'As it comes' : `${theme.radius} px` },
      { label: 'Logo text', value: theme.logo_text ?? 'None' },
    ]}
  />
)
