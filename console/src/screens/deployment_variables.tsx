// The names of a deployment's variables. Values are never given back; a new value replaces the old one.
import { useState } from 'preact/hooks';
import { type TypedVariables, variables_of } from '../components/values';
import { Confirm, Form, useDraft } from '../components/form';
import { note } from '../components/notes';
import { Button, Card, Empty } from '../components/ui';
import { change, type Deployment } from '../data';
import { t } from '../messages';
import { variables_field } from './deployment_fields';

const one_row = [{ name: '', value: '' }];

export function VariablesTab({ deployment }: { deployment: Deployment }) {
  const draft = useDraft();
  const [typed, type] = draft;
  const { pairs, pasted } = (typed.env_vars ?? { pairs: one_row, pasted: '' }) as TypedVariables;
  const [removing, remove] = useState<string | null>(null);
  const names = [...(deployment.env_keys ?? [])].sort();
  const count = Object.keys(variables_of({ pairs, pasted })).length;
  async function save(env_vars: Record<string, string | null>) {
    await change(deployment, { env_vars });
    note(t.variables.saved);
  }
  // Puts a row for the variable before those that were typed.
  function replace(name: string) {
    const others = pairs.filter((pair) => pair.name && pair.name !== name);
    type({ env_vars: { pairs: [{ name, value: '' }, ...others], pasted } });
    requestAnimationFrame(() => document.querySelector<HTMLInputElement>('.pair .value')?.focus());
  }
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
                  onClick={() => replace(name)}
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
        <Form<{ env_vars: Record<string, string> }>
          draft={draft}
          fields={[{ ...variables_field, hint: `${t.variables.sealed} ${t.variables.rollout}`, required: true }]}
          values={{ env_vars: one_row }}
          action={t.variables.save(count)}
          run={async ({ env_vars }) => {
            await save(env_vars);
            type({});
          }}
        />
      </Card>
      {removing && (
        <Confirm
          title={t.variables.remove(removing)}
          action={t.variables.remove_short}
          danger
          onClose={() => remove(null)}
          run={() => save({ [removing]: null })}>
          <p>{t.variables.rollout}</p>
        </Confirm>
      )}
    </div>
  );
}
