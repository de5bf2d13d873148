-- Whether an op only looks at memory in another way: it launches nothing and its output shares its operand's bytes.
-- getitem does where it indexes by slices and numbers, and has one operand; by index tensors it copies (a list of
-- positions, which copies too, is rare and not told apart). reshape, contiguous and to may copy and are no views.
-- One IN over all of it: an OR of two conditions takes twice as long over 10 M nodes.
CREATE MACRO is_view(op, operand_ops) AS (
    if(op = 'getitem' AND contains(operand_ops, ' '), 'copy', op) IN (
        'view', 'transpose', 'permute', 't', 'expand', 'expand_as', 'squeeze', 'unsqueeze', 'narrow', 'select', 'chunk',
        'split', 'unbind', 'movedim', 'diagonal', 'detach', 'unfold', 'view_as', 'unflatten', 'as_strided', 'getitem'
    )
);
