// The names of a deployment's variables. Values are never given back; a new value replaces the old one.
import { useState } from 'preact/hooks';
import { call } from '../api';
import { note } from '../components/notes';
import { Button, Card, Confirm, Empty, Field } from '../components/ui';
import { useSubmit } from '../components/use';
import { as_object, type Pair, parse_env, Variables } from '../components/variables';
import { type Deployment, put } from '../data';
import { t } from '../messages';

export function VariablesTab({ deployment }: { deployment: Deployment }) {
  const [pairs, set_pairs] = useState<Pair[]>([{ name: '', value: '' }]);
  const [pasted, paste] = useState('');
  const [removing, remove] = useState<string | null>(null);
  const names = [...(deployment.env_keys ?? [])].sort();
  const change = async (env_vars: Record<string, string | null>) => {
    put(
      (
        await call('patch', '/api/deploy/apps/{id}', {
          path: { id: deployment.id },
          app: deployment.app_id,
          body: { env_vars },
        })
      ).deployment,
    );
  };
  const fresh = { ...as_object(parse_env(pasted)), ...as_object(pairs) };
  const { busy, error, submit, wrong } = useSubmit(async () => {
    await change(fresh);
    set_pairs([{ name: '', value: '' }]);
    paste('');
    note(t.variables.saved);
  });
  const count = Object.keys(fresh).length;
  return (
    <div class="columns">
      <Card title={t.variables.heading} bare>
        {names.length === 0 ? (
          <Empty icon="key" title={t.variables.none} text={t.variables.none_text} />
        ) : (
          <ul class="list">
            {names.map((name) => (
              <li key={name}>
                <code class="grow break">{name}</code>
                <span class="faint small">{t.variables.hidden}</span>
                <Button
                  slim
                  kinds={['plain']}
                  icon="edit"
                  label={t.variables.replace(name)}
                  onClick={() => {
                    set_pairs([{ name, value: '' }, ...pairs.filter((pair) => pair.name && pair.name !== name)]);
                    requestAnimationFrame(() => document.querySelector<HTMLInputElement>('.pair .value')?.focus());
                  }}
                />
                <Button
                  slim
                  kinds={['plain']}
                  icon="trash"
                  label={t.variables.remove(name)}
                  onClick={() => remove(name)}
                />
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title={t.variables.set}>
        <form class="stack" onSubmit={submit}>
          <Variables pairs={pairs} onChange={set_pairs} />
          <Field label={t.variables.paste} wrong={wrong('env_vars')}>
            {(field) => (
              <textarea
                {...field}
                spellcheck={false}
                autocomplete="off"
                placeholder={'LOG_LEVEL=debug\nGREETING="hello"'}
                value={pasted}
                onInput={(e) => paste(e.currentTarget.value)}
              />
            )}
          </Field>
          {error && !wrong('env_vars') && (
            <p class="wrong" role="alert">
              {error.message}
            </p>
          )}
          <p class="small faint">
            {t.variables.sealed} {t.variables.rollout}
          </p>
          <div>
            <Button type="submit" kinds={['main-action']} busy={busy} disabled={count === 0}>
              {t.variables.save(count)}
            </Button>
          </div>
        </form>
      </Card>
      {removing && (
        <Confirm
          title={t.variables.remove(removing)}
          action={t.variables.remove_short}
          danger
          onClose={() => remove(null)}
          run={async () => {
            await change({ [removing]: null });
            note(t.variables.saved);
          }}>
          <p>{t.variables.rollout}</p>
        </Confirm>
      )}
    </div>
  );
}
