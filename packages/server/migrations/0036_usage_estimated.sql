-- Whether a part of the requests was reported by a server that counts only a sample of them. Rows from before this column
-- do not say it.
alter table usage_hours add column estimated boolean not null default false;
alter table usage_months add column estimated boolean not null default false;
alter table usage_days add column estimated boolean not null default false;
