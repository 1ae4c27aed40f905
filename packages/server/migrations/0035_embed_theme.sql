-- How the embed widget looks in a workspace; null: as it comes.
alter table workspaces
  add column embed_accent text constraint workspaces_embed_accent_form check (embed_accent ~ '^#[0-9A-Fa-f]{6}$'),
  -- Pixels.
  add column embed_radius smallint constraint workspaces_embed_radius_bounds check (embed_radius between 0 and 24),
  add column embed_logo_text text
    constraint workspaces_embed_logo_text_bounds check (char_length(embed_logo_text) between 1 and 40);
